package edn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/leasehold-checker/leasehold/histories"
)

// event is one operation of the file: an invocation or a completion.
type event struct {
	line    int
	kind    histories.Type
	f       string
	process int64 // byNemesis: the nemesis
	time    int64 // ns
	timed   bool
	value   string // as it stands in the file; "" for nil
	err     string // what went wrong, in words
}

// byNemesis is the process of the nemesis. Those of clients count from 0.
const byNemesis = int64(-1)

// event reads the fields of one operation.
func (d *decoder) event(f *fields, line int) (event, error) {
	e := event{line: line, f: name(f[fieldF]), value: d.keep(f[fieldValue])}
	switch kind := histories.Type(name(f[fieldType])); kind {
	case histories.Invoke, histories.OK, histories.Fail, histories.Info:
		e.kind = kind
	case "":
		return e, errors.New("key :type is missing")
	default:
		return e, fmt.Errorf("unknown type %.40q", kind)
	}
	var err error
	if e.process, err = process(f[fieldProcess]); err != nil {
		return e, err
	}
	if e.f == "" {
		return e, errors.New("key :f is missing")
	}
	if e.time, e.timed, err = number(f[fieldTime]); err != nil {
		return e, fmt.Errorf(":time: %w", err)
	}
	if raw := string(f[fieldError]); raw != "" && raw != "nil" {
		e.err = reason(raw)
	}
	return e, nil
}

// name is a keyword without its colon, or a word of any other kind.
func name(raw []byte) string {
	s := string(raw)
	if s == "nil" {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(s, ":"), `"`)
}

func process(raw []byte) (int64, error) {
	switch string(raw) {
	case "", "nil":
		return 0, errors.New("key :process is missing")
	case ":nemesis":
		return byNemesis, nil
	}
	p, _, err := number(raw)
	if err != nil || p < 0 {
		return 0, fmt.Errorf("process %.40q is neither a number from 0 nor :nemesis", raw)
	}
	return p, nil
}

// number reads an integer that may be missing.
func number(raw []byte) (n int64, there bool, err error) {
	if s := string(raw); s != "" && s != "nil" {
		n, err = strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, true, fmt.Errorf("%.40q is not an integer of 64 bits", s)
		}
		return n, true, nil
	}
	return 0, false, nil
}

// reason makes words of an error: Jepsen's clients say :timeout, "text", or
// [:conn-refused "text"].
func reason(raw string) string {
	v, err := parse(raw)
	if err != nil {
		return raw // an exception, printed in a way that is no EDN
	}
	if parts, ok := v.([]any); ok {
		said := make([]string, len(parts))
		for i, part := range parts {
			said[i] = strings.TrimPrefix(words(part), ":")
		}
		return strings.Join(said, " ")
	}
	return strings.TrimPrefix(words(v), ":")
}

// keep makes a string of a value, often one seen before; "" for nil.
func (d *decoder) keep(raw []byte) string {
	if len(raw) == 0 || string(raw) == "nil" {
		return ""
	}
	if known, ok := d.values[string(raw)]; ok {
		return known
	}
	s := string(raw)
	d.held += int64(len(s))
	if len(d.values) < maxValues {
		d.values[s] = s
	}
	return s
}

// maxValues bounds the table of values seen before.
const maxValues = 1 << 14
