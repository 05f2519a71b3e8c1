package histories

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ParseText reads a history in the text notation (.hist). The name stands in
// messages. What it returns is valid (see [Validate]); errors name file and line.
// Operations are numbered within their process, from 0, in the order of lines.
//
// Header lines come first, each optional: "from: SOURCE", "fence: off|writes|all",
// "tokens: ordered|none", "guards: LOCK -> RESOURCE", "initial: RESOURCE = VALUE",
// "expect: PROPERTY=VERDICT ...", "needs: FEATURE ...". Then, sorted by
// invocation, one operation a line, and perhaps "TIME end" as the last:
//
//	TIME PROCESS acquire LOCK [mode=shared] [ttl=MS] [grant=G] [session=S] [-> RESULT]
//	TIME PROCESS renew|release|check|lost LOCK [ttl=MS] [grant=G] [session=S] [-> RESULT]
//	TIME PROCESS open|read RESOURCE [token=N] [grant=G] [lock=L] [-> RESULT]
//	TIME PROCESS write RESOURCE VALUE [token=N] [grant=G] [under=G] [lock=L] [-> RESULT]
//	TIME nemesis pause|resume|kill|restart|partition|heal TARGET [point=X] [text=TEXT] [-> RESULT]
//	TIME nemesis WORD [target=X] [point=X] [TEXT] [-> RESULT]
//	TIME store expire|revoke LOCK of PROCESS [text=TEXT] [-> RESULT]
//	TIME store WORD [target=X] [lock=L] [TEXT] [-> RESULT]
//
// TIME is in ms with up to six decimals: t1..t2, or t for both, or t1.. without an
// answer. RESULT is "ok [token=N] [ttl=MS] [grant=G] [value=V] [held=true|false]
// [seq=N] [count=N]", "fail [REASON] [seq=N]" or "info [REASON]". Without one, a
// worker's operation is info, and anything else ok if it was answered. Lines that
// begin with # are comments. A TEXT that begins like an argument needs text=
// before it; one that ends like a result needs the result behind it.
func ParseText(r io.Reader, name string) (*History, error) { return Limits{}.ParseText(r, name) }

// ParseText is [ParseText] within these limits.
func (limits Limits) ParseText(r io.Reader, name string) (*History, error) {
	l := newLineReader(r, name)
	text := int64(0)
	p := textParser{h: &History{Source: name}, next: map[string]int64{}}
	p.h.Header.Fence, p.h.Header.Tokens = FenceOff, TokensOrdered
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(line) {
			return nil, l.at(errors.New("invalid UTF-8"))
		}
		text += int64(len(line))
		if err := p.line(strings.TrimSpace(string(line)), l.line); err != nil {
			return nil, l.at(err)
		}
		if err := limits.Allow(len(p.h.Ops), text); err != nil {
			return nil, l.at(err)
		}
	}
	if l.line == 0 {
		return nil, atLine(name, 0, errors.New("empty file"))
	}
	if err := Validate(p.h); err != nil {
		return nil, err
	}
	return p.h, nil
}

type textParser struct {
	h      *History
	next   map[string]int64 // process -> next id
	header headerParser
	events bool // the header is over
}

func (p *textParser) line(s string, number int) error {
	if s == "" || s[0] == '#' {
		return nil
	}
	if p.h.Header.End.Known() {
		return errors.New("a line after the end")
	}
	word, rest := cutWord(s)
	if name, isHeader := strings.CutSuffix(word, ":"); isHeader {
		if p.events {
			return errors.New("a header line after the first event")
		}
		return p.header.line(&p.h.Header, name, rest)
	}
	p.events = true
	if rest == "end" {
		return p.end(word)
	}
	o, err := parseOperation(s)
	if err != nil {
		return err
	}
	if n := len(p.h.Ops); n > 0 && o.Invoke < p.h.Ops[n-1].Invoke {
		return errors.New("lines out of order: invoked before the line above")
	}
	o.Line = number
	o.ID = p.next[o.Process]
	p.next[o.Process]++
	p.h.Ops = append(p.h.Ops, o)
	return nil
}

func (p *textParser) end(time string) error {
	end, err := parseMillis(time)
	if err != nil {
		return err
	}
	p.h.Header.End = Some(end)
	return nil
}

// parseOperation reads one line that holds an operation.
func parseOperation(s string) (Operation, error) {
	var o Operation
	time, rest := cutWord(s)
	if err := parseTimes(time, &o); err != nil {
		return o, err
	}
	o.Process, rest = cutWord(rest)
	if err := checkName(o.Process); err != nil {
		return o, err
	}
	var f string
	f, rest = cutWord(rest)
	if o.F = F(f); f == "" || f == arrow {
		return o, errors.New("no operation after the process")
	}
	if err := checkFunction(o.Process, o.F); err != nil {
		return o, err
	}
	if !o.ByWorker() {
		return o, parseEvent(rest, &o)
	}
	arguments, result, there := cutResult(rest)
	if err := parseArguments(arguments, &o); err != nil {
		return o, err
	}
	if there && o.F == Lost && result != string(Info) {
		return o, errors.New("lost has no result: it is something that the worker was told")
	}
	if !there && o.F == Lost && o.Return != Never {
		result = string(OK)
	} else if !there {
		result = string(Info)
	}
	return o, parseResult(result, &o)
}

// parseTimes reads t1..t2, t (both at one instant) or t1.. (never answered).
func parseTimes(s string, o *Operation) (err error) {
	from, to, span := strings.Cut(s, "..")
	if o.Invoke, err = parseMillis(from); err != nil {
		return err
	}
	switch {
	case !span:
		o.Return = o.Invoke
	case to == "":
		o.Return = Never
	default:
		if o.Return, err = parseMillis(to); err != nil {
			return err
		}
	}
	if o.Return < o.Invoke {
		return fmt.Errorf("answered before its invocation: %s", s)
	}
	return nil
}

// parseArguments reads what stands between a worker's operation and its result.
func parseArguments(s string, o *Operation) error {
	name, s := cutWord(s)
	if _, isArgument := parseArgument(name); name == "" || isArgument {
		return fmt.Errorf("%s without a name", o.F)
	}
	var seen keySet
	if o.F.OnResource() {
		o.Resource, seen = name, keysOf(keyResource)
	} else {
		o.Lock, seen = name, keysOf(keyLock)
	}
	if o.F == Write {
		var value string
		value, s = cutWord(s)
		if _, isArgument := parseArgument(value); value == "" || isArgument {
			return errors.New("write without a value")
		}
		o.Value, seen = Some(value), seen|1<<keyValue
	}
	return parseWords(s, o, Invoke, seen)
}

// parseWords reads words like token=33, up to the end of s.
func parseWords(s string, o *Operation, t Type, seen keySet) error {
	for s != "" {
		var word string
		word, s = cutWord(s)
		a, ok := parseArgument(word)
		if !ok {
			return fmt.Errorf("unknown word %.40q", word)
		}
		if seen.has(a.key) {
			return fmt.Errorf("%.40q stands twice", a.key)
		}
		seen |= 1 << a.key
		if err := checkKeys(o.Process, o.F, t, keysOf(a.key)); err != nil {
			return err
		}
		if err := o.set(a, t); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	return nil
}

// set fills in one argument of the event of type t.
func (o *Operation) set(a argument, t Type) (err error) {
	if a.value == "" && (a.key != keyValue || t == Invoke) {
		return errors.New("nothing after the =")
	}
	switch a.key {
	case keyTTL, keyToken, keySeq, keyCount:
		return o.setNumber(a, t)
	case keyHeld:
		if a.value != "true" && a.value != "false" {
			return errors.New("want true or false")
		}
		o.Held = Some(a.value == "true")
	case keyGrant:
		if t == OK && o.Grant != "" {
			return errors.New("grant is named twice: by the arguments and by the result")
		}
		o.Grant, o.GrantLate = a.value, t == OK
	case keyMode:
		o.Mode = a.value
	case keySession:
		o.Session = a.value
	case keyLock:
		o.Lock = a.value
	case keyUnder:
		o.Under = a.value
	case keyTarget:
		o.Target = a.value
	case keyPoint:
		o.Point = Point(a.value)
	default:
		o.Value = Some(a.value)
	}
	return nil
}

func (o *Operation) setNumber(a argument, t Type) error {
	v, err := parseInteger(a.value)
	if err != nil {
		return err
	}
	switch {
	case a.key == keyTTL && v <= 0:
		return errors.New("a ttl that is not positive")
	case a.key == keyTTL && t == Invoke:
		o.TTLAsked = v
	case a.key == keyTTL:
		o.TTL = v
	case a.key == keyToken:
		o.Token = Some(v)
	case a.key == keySeq:
		o.Seq = Some(v)
	default:
		o.HoldsLeft = Some(v)
	}
	return nil
}

// parseResult reads what follows the arrow.
func parseResult(s string, o *Operation) error {
	word, rest := cutWord(s)
	switch o.Type = Type(word); o.Type {
	case OK:
		return parseWords(rest, o, OK, 0)
	case Fail:
		return parseReason(rest, o)
	case Info:
		o.Error = rest
		return nil
	}
	return fmt.Errorf("unknown result %.40q, want ok, fail or info", word)
}

// parseReason reads "[REASON] [seq=N]". The number is no part of the reason.
func parseReason(s string, o *Operation) error {
	o.Error = s
	i := strings.LastIndex(s, "seq=")
	if i < 0 || i > 0 && strings.TrimSpace(s[i-1:i]) != "" || len(strings.Fields(s[i:])) != 1 {
		return nil
	}
	o.Error = strings.TrimSpace(s[:i])
	return parseWords(s[i:], o, Fail, 0)
}
