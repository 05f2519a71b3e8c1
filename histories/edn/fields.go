package edn

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// field is a key of an operation that is looked at. All other keys are passed over.
type field uint8

const (
	fieldType field = iota
	fieldF
	fieldProcess
	fieldValue
	fieldTime
	fieldError
	numFields
)

var fieldNames = [numFields]string{":type", ":f", ":process", ":value", ":time", ":error"}

// fields are the values of an operation as they stand in the file; nil: not there.
type fields [numFields][]byte

// reader parts a file into operations: maps one after the other, or all of them in
// one vector.
type reader struct {
	*source
	closing byte // of the vector, if there is one
	closed  bool
}

// next gives the next operation and its line. What it gives is good until the next
// call. At the end it returns io.EOF, for an operation that is cut off errTorn.
func (r *reader) next() (fields, int, error) {
	for {
		r.between()
		line := r.line
		switch c := r.peek(); {
		case r.err != nil:
			return fields{}, line, r.ending()
		case r.closed:
			return fields{}, line, r.at(errors.New("more text after the operations"))
		case r.closing == 0 && (c == '[' || c == '('):
			r.take()
			r.closing = closer(c)
			continue
		case r.closing != 0 && c == r.closing:
			r.take()
			r.closed = true
			continue
		}
		f, there := r.operation()
		if r.err == io.EOF {
			r.err = errTorn
		}
		if r.err != nil {
			return fields{}, line, r.err
		}
		if there {
			return f, line, nil
		}
	}
}

// ending is what the end between two operations means.
func (r *reader) ending() error {
	if r.err == io.EOF && r.closing != 0 && !r.closed {
		return r.at(fmt.Errorf("the file ends before the %q that closes its operations", r.closing))
	}
	return r.err
}

// operation takes a map, with tags such as #jepsen.history.Op before it. There is
// none if it is discarded.
func (r *reader) operation() (fields, bool) {
	for range maxDepth {
		switch r.token() {
		case tokenNone:
			return fields{}, false
		case tokenTag:
			continue
		case tokenDiscard:
			r.value(1)
			return fields{}, false
		case tokenOpen:
			if n := len(r.form); r.form[n-1] == '{' && (n < 2 || r.form[n-2] != '#') {
				return r.members(), true
			}
		}
		r.fail(fmt.Errorf("unexpected %.40q, want an operation: a map", r.form))
		return fields{}, false
	}
	r.fail(errDeep)
	return fields{}, false
}

func (r *reader) members() (f fields) {
	var at [numFields][2]int // the operation may move in memory until it is whole
	for {
		from, to, ok := r.value(1)
		if !ok {
			break
		}
		k, known := lookupField(r.form[from:to])
		if from, to, ok = r.value(1); !ok {
			r.fail(errors.New("a key without a value"))
			return f
		}
		if known && at[k][1] > 0 {
			r.fail(fmt.Errorf("key %s stands twice", fieldNames[k]))
			return f
		}
		if known {
			at[k] = [2]int{from, to}
		}
	}
	if c := r.form[len(r.form)-1]; r.err == nil && c != '}' {
		r.fail(fmt.Errorf("unexpected %q, want '}'", c))
	}
	if r.err == nil && !utf8.Valid(r.form) {
		r.fail(errors.New("invalid UTF-8"))
	}
	for k, a := range at {
		if a[1] > 0 {
			f[k] = r.form[a[0]:a[1]]
		}
	}
	return f
}

func lookupField(key []byte) (field, bool) {
	for k, name := range fieldNames {
		if string(key) == name {
			return field(k), true
		}
	}
	return 0, false
}
