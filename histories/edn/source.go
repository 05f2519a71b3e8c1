package edn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	// maxForm is how long an operation may be, as a line of the other notations.
	maxForm = 1 << 20
	// maxDepth is how deep brackets, tags and discards may be nested. The library
	// that decodes values calls itself for each level.
	maxDepth = 256
)

var (
	errLongForm = errors.New("operation is longer than 1 MiB")
	errDeep     = fmt.Errorf("nested more than %d deep", maxDepth)
	errTorn     = errors.New("the file ends inside an operation")
)

// source parts a stream into forms, and holds one operation at a time. It knows
// only where forms begin and end, and is generous with what stands in them: Clojure
// prints things that are no EDN (0x1f, 1/2, ##NaN, #"regex") into keys that nobody
// asks for.
type source struct {
	r    *bufio.Reader
	name string
	line int
	form []byte // the operation so far
	err  error  // the first one; io.EOF at the end
}

func newSource(r io.Reader, name string) *source {
	return &source{r: bufio.NewReaderSize(r, 64<<10), name: name, line: 1}
}

// at says where an error is.
func (s *source) at(err error) error { return atLine(s.name, s.line, err) }

func atLine(name string, line int, err error) error {
	if name == "" {
		name = "history"
	}
	return fmt.Errorf("%s:%d: %w", name, line, err)
}

// peek is the next byte; 0 at the end, or after an error.
func (s *source) peek() byte {
	if s.err != nil {
		return 0
	}
	b, err := s.r.ReadByte()
	if err != nil {
		if s.err = err; err != io.EOF {
			s.err = s.at(fmt.Errorf("read operation: %w", err))
		}
		return 0
	}
	_ = s.r.UnreadByte() // directly after ReadByte it cannot fail
	return b
}

// take takes the next byte into the operation.
func (s *source) take() byte {
	c := s.peek()
	if s.err != nil {
		return 0
	}
	_, _ = s.r.Discard(1)
	if c == '\n' {
		s.line++
	}
	if len(s.form) == maxForm {
		s.fail(errLongForm)
		return 0
	}
	s.form = append(s.form, c)
	return c
}

func (s *source) fail(err error) {
	if s.err == nil {
		s.err = s.at(err)
	}
}

// space takes blanks and comments.
func (s *source) space() {
	for {
		switch c := s.peek(); {
		case s.err == nil && blank(c):
			s.take()
		case c == ';':
			for s.err == nil && s.peek() != '\n' {
				s.take()
			}
		default:
			return
		}
	}
}

// between takes what stands between operations, and forgets it, however much it is.
func (s *source) between() {
	for s.form = s.form[:0]; ; s.form = s.form[:0] {
		c := s.peek()
		switch {
		case s.err == nil && blank(c):
			s.take()
		case c == ';':
			for s.err == nil && s.peek() != '\n' {
				s.take()
				s.form = s.form[:0]
			}
		default:
			return
		}
	}
}

// token takes the next token: a bracket with what belongs to it, a string, a tag
// without its form, an atom. Blanks before it are taken, too.
func (s *source) token() token {
	s.space()
	if s.err != nil {
		return tokenNone
	}
	switch c := s.take(); c {
	case '(', '[', '{':
		return tokenOpen
	case ')', ']', '}':
		return tokenClose
	case '"':
		s.text()
	case '\\':
		s.take() // also a bracket, a quote or a semicolon
		s.atom()
	case '#':
		return s.dispatch()
	default:
		s.atom()
	}
	return tokenAtom
}

type token uint8

const (
	tokenNone token = iota
	tokenOpen
	tokenClose
	tokenAtom
	tokenTag     // its form comes next
	tokenDiscard // the next form does not count
)

// dispatch goes on after a #.
func (s *source) dispatch() token {
	switch c := s.peek(); {
	case c == '{' || c == '(':
		s.take()
		return tokenOpen
	case c == '_':
		s.take()
		return tokenDiscard
	case c == '"':
		s.take()
		s.text()
		return tokenAtom
	case c == '#':
		s.take()
		s.atom()
		return tokenAtom
	}
	s.atom()
	return tokenTag
}

func (s *source) text() {
	for s.err == nil {
		switch s.take() {
		case '\\':
			s.take()
		case '"':
			return
		}
	}
}

// atom takes the rest of a name, a number, a keyword.
func (s *source) atom() {
	for {
		c := s.peek()
		if s.err != nil || blank(c) {
			return
		}
		switch c {
		case '(', ')', '[', ']', '{', '}', '"', ';':
			return
		}
		s.take()
	}
}

// value takes the next form that counts, and says where in the operation it lies.
// At the end of what encloses it, ok is false.
func (s *source) value(depth int) (from, to int, ok bool) {
	if depth > maxDepth {
		s.fail(errDeep)
	}
	for {
		s.space()
		from = len(s.form)
		switch s.token() {
		case tokenNone, tokenClose:
			return 0, 0, false
		case tokenAtom:
			return from, len(s.form), true
		case tokenTag:
			_, to, ok = s.value(depth + 1)
			return from, to, ok
		case tokenOpen:
			s.rest(depth)
			return from, len(s.form), s.err == nil
		case tokenDiscard:
			if _, _, ok := s.value(depth + 1); !ok {
				return 0, 0, false
			}
		}
	}
}

// rest takes what follows an opening bracket, up to the one that closes it.
func (s *source) rest(depth int) {
	closing := []byte{closer(s.form[len(s.form)-1])}
	for len(closing) > 0 && s.err == nil {
		switch s.token() {
		case tokenOpen:
			closing = append(closing, closer(s.form[len(s.form)-1]))
			if depth+len(closing) > maxDepth {
				s.fail(errDeep)
			}
		case tokenClose:
			last := len(closing) - 1
			if c := s.form[len(s.form)-1]; c != closing[last] {
				s.fail(fmt.Errorf("unexpected %q, want %q", c, closing[last]))
			}
			closing = closing[:last]
		}
	}
}

func closer(open byte) byte {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

// blank: a comma is one in EDN.
func blank(c byte) bool { return c == ' ' || c == ',' || '\t' <= c && c <= '\r' }
