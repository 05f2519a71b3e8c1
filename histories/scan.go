package histories

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// errTorn says that a line ends before its object does.
var errTorn = errors.New("line is torn: it ends inside its object")

// scanner decodes flat JSON objects of strings, integers and booleans. It is
// written by hand because encoding/json keeps the last of two equal keys without
// a word, takes "Lock" for "lock", and is several times slower.
type scanner struct {
	b     []byte
	i     int
	names [256]string // names seen lately, by hash, so that few are allocated twice
}

// event decodes one line.
func (s *scanner) event(line []byte, e *event) error {
	s.b, s.i = line, 0
	*e = event{}
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.space(); s.i < len(s.b) && s.b[s.i] == '}' {
		s.i++
		return s.finish(e)
	}
	for {
		if err := s.member(e); err != nil {
			return err
		}
		s.space()
		if s.i == len(s.b) {
			return errTorn
		}
		c := s.b[s.i]
		s.i++
		switch c {
		case ',':
		case '}':
			return s.finish(e)
		default:
			return fmt.Errorf("unexpected %s, want , or }", quoteByte(c))
		}
	}
}

func (s *scanner) finish(e *event) error {
	if s.space(); s.i < len(s.b) {
		return errors.New("more text after the object")
	}
	if missing := required &^ e.keys; missing != 0 {
		return fmt.Errorf("key %q is missing", missing.first())
	}
	return nil
}

func (s *scanner) member(e *event) error {
	s.space()
	name, err := s.rawString()
	if err != nil {
		return err
	}
	k, known := lookupKey(name)
	if !known {
		return fmt.Errorf("unknown key %.40q", name)
	}
	if e.keys.has(k) {
		return fmt.Errorf("key %q stands twice", k)
	}
	e.keys |= 1 << k
	if err := s.expect(':'); err != nil {
		return err
	}
	s.space()
	if err := s.value(k, e); err == errTorn {
		return err
	} else if err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}

func (s *scanner) value(k key, e *event) error {
	switch k {
	case keyIndex, keyTime, keyOp, keyTTL, keySeq, keyCount, keyToken:
		return s.number(k, e)
	case keyHeld:
		v, err := s.boolean()
		e.op.Held = Some(v)
		return err
	case keyType:
		return s.eventType(&e.op.Type)
	}
	b, err := s.rawString()
	if err != nil {
		return err
	}
	switch o := &e.op; k {
	case keyValue:
		o.Value = Some(string(b))
		return nil // the one string that may be empty
	case keyError:
		o.Error = string(b)
	case keyText:
		o.Text = string(b)
	default:
		setName(k, o, s.intern(b))
	}
	if len(b) == 0 {
		return errors.New("empty; leave the key out instead")
	}
	return nil
}

func setName(k key, o *Operation, v string) {
	switch k {
	case keyProcess:
		o.Process = v
	case keyF:
		o.F = F(v)
	case keyLock:
		o.Lock = v
	case keyGrant:
		o.Grant = v
	case keyMode:
		o.Mode = v
	case keySession:
		o.Session = v
	case keyResource:
		o.Resource = v
	case keyUnder:
		o.Under = v
	case keyTarget:
		o.Target = v
	case keyPoint:
		o.Point = Point(v)
	}
}

func (s *scanner) number(k key, e *event) error {
	var v int64
	var err error
	if k == keyToken && s.i < len(s.b) && s.b[s.i] == '"' {
		v, err = s.quotedInteger()
	} else {
		v, err = s.integer()
	}
	switch k {
	case keyIndex:
		e.index = v
	case keyTime:
		e.time = v
	case keyOp:
		e.op.ID = v
	case keyTTL:
		e.op.TTL = v
	case keySeq:
		e.op.Seq = Some(v)
	case keyCount:
		e.op.HoldsLeft = Some(v)
	case keyToken:
		e.op.Token = Some(v)
	}
	return err
}

func (s *scanner) eventType(t *Type) error {
	b, err := s.rawString()
	if err != nil {
		return err
	}
	switch string(b) {
	case "invoke":
		*t = Invoke
	case "ok":
		*t = OK
	case "fail":
		*t = Fail
	case "info":
		*t = Info
	default:
		return fmt.Errorf("unknown type %.40q", b)
	}
	return nil
}

// quotedInteger takes an integer in quotes, for languages whose numbers lose
// bits above 2^53.
func (s *scanner) quotedInteger() (int64, error) {
	b, err := s.rawString()
	if err != nil {
		return 0, err
	}
	return parseInteger(string(b))
}

func (s *scanner) integer() (int64, error) {
	start := s.i
	negative := s.i < len(s.b) && s.b[s.i] == '-'
	if negative {
		s.i++
	}
	digits := s.i
	var v uint64
	over := false
	for ; s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9'; s.i++ {
		over = over || v > math.MaxInt64/10
		v = v*10 + uint64(s.b[s.i]-'0')
		over = over || v > math.MaxInt64+1
	}
	n := s.i - digits
	switch {
	case n == 0 && s.i == len(s.b):
		return 0, errTorn
	case n == 0:
		return 0, fmt.Errorf("unexpected %s, want an integer", quoteByte(s.b[s.i]))
	case s.i < len(s.b) && (s.b[s.i] == '.' || s.b[s.i]|0x20 == 'e'):
		return 0, errors.New("a fraction, want an integer")
	case over || !negative && v > math.MaxInt64:
		return 0, fmt.Errorf("%.40s is beyond 64 bits", s.b[start:s.i])
	case n > 1 && s.b[digits] == '0':
		return 0, errors.New("an integer with a leading zero")
	case negative:
		return -int64(v), nil
	}
	return int64(v), nil
}

func (s *scanner) boolean() (bool, error) {
	for _, word := range []string{"true", "false"} {
		rest := s.b[s.i:]
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			s.i += len(word)
			return word == "true", nil
		}
		if len(rest) < len(word) && string(rest) == word[:len(rest)] {
			return false, errTorn
		}
	}
	return false, fmt.Errorf("unexpected %s, want true or false", quoteByte(s.b[s.i]))
}

func (s *scanner) expect(want byte) error {
	s.space()
	if s.i == len(s.b) {
		return errTorn
	}
	if c := s.b[s.i]; c != want {
		return fmt.Errorf("unexpected %s, want %c", quoteByte(c), want)
	}
	s.i++
	return nil
}

func (s *scanner) space() {
	for s.i < len(s.b) && blank(s.b[s.i]) {
		s.i++
	}
}

// intern makes a string of a name, most often one seen before. A table with one
// place a hash is faster than a map, and bounded.
func (s *scanner) intern(b []byte) string {
	h := uint32(2166136261) // FNV-1a
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	name := &s.names[(h^h>>16)%uint32(len(s.names))]
	if *name != string(b) {
		*name = string(b)
	}
	return *name
}

func quoteByte(c byte) string {
	if c < utf8.RuneSelf {
		return fmt.Sprintf("%q", rune(c))
	}
	return fmt.Sprintf("byte 0x%x", c)
}
