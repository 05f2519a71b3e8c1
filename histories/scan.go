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
	names [256]string  // names seen lately, by hash, so that few are kept twice
	texts [1024]string // the same for values, which are many, and would drive out the names
	store textStore
}

// event decodes one line.
func (s *scanner) event(line []byte, e *event) error {
	s.b, s.i = line, 0
	e.keys = 0
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

func (s *scanner) value(k key, e *event) (err error) {
	switch k {
	case keyIndex, keyTime, keyOp, keyTTL, keySeq, keyCount:
		e.numbers[k], err = s.integer()
		return err
	case keyToken:
		if s.i < len(s.b) && s.b[s.i] == '"' {
			e.numbers[k], err = s.quotedInteger()
		} else {
			e.numbers[k], err = s.integer()
		}
		return err
	case keyHeld:
		e.held, err = s.boolean()
		return err
	case keyType:
		e.kind, err = s.eventType()
		return err
	}
	b, err := s.rawString()
	switch {
	case err != nil:
		return err
	case k == keyValue || k == keyError || k == keyText:
		e.texts[k] = s.intern(b, s.texts[:])
	default:
		e.texts[k] = s.intern(b, s.names[:])
	}
	if len(b) == 0 && k != keyValue {
		return errors.New("empty; leave the key out instead")
	}
	return nil
}

func (s *scanner) eventType() (Type, error) {
	b, err := s.rawString()
	if err != nil {
		return "", err
	}
	switch string(b) {
	case "invoke":
		return Invoke, nil
	case "ok":
		return OK, nil
	case "fail":
		return Fail, nil
	case "info":
		return Info, nil
	}
	return "", fmt.Errorf("unknown type %.40q", b)
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

func quoteByte(c byte) string {
	if c < utf8.RuneSelf {
		return fmt.Sprintf("%q", rune(c))
	}
	return fmt.Sprintf("byte 0x%x", c)
}
