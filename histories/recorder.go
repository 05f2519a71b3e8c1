package histories

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxReason bounds the error texts that a Recorder takes over, in bytes. They
// come from stores and drivers, and only their first word is judged.
const maxReason = 1000

// Recorder writes what one process does while it happens, one event a line, for
// [Merge]. Several goroutines may use it.
//
// Events are stamped and written under one lock, so that the times of a file
// never run backwards, with one Write call each: a line is in the hands of the
// kernel before the call returns, and outlives the process.
type Recorder struct {
	process string
	clock   func() int64

	mu   sync.Mutex
	w    io.Writer
	buf  []byte
	next int64
	open map[int64]asked
	err  error // the first failed write; nothing can follow half a line
}

// asked is what a Recorder must know to write an answer.
type asked struct {
	f     F
	grant string
}

// NewRecorder records one process. The clock gives nanoseconds since the cell
// began and must never run backwards (see package monotonic). The writer is not
// buffered by the Recorder and should not be: a file, opened for appending.
func NewRecorder(w io.Writer, process string, clock func() int64) *Recorder {
	return &Recorder{process: process, clock: clock, w: w, buf: make([]byte, 0, 512), open: map[int64]asked{}}
}

// Invoke stamps an operation and writes its invocation. Call it before the
// request is sent. It returns the id for Answer. Process, ID, Type and times of
// op are not looked at; an attribute that only an answer can bring is an error.
func (r *Recorder) Invoke(op Operation) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := r.invoke(&op)
	if err != nil {
		return 0, err
	}
	if err := r.write(line); err != nil {
		return 0, err
	}
	r.open[op.ID] = asked{f: op.F, grant: op.Grant}
	return op.ID, nil
}

// invoke numbers and stamps op, and makes its line.
func (r *Recorder) invoke(op *Operation) ([]byte, error) {
	op.Process, op.ID, op.Type = r.process, r.next, ""
	err := checkFunction(op.Process, op.F)
	if err == nil {
		err = checkKeys(op.Process, op.F, Invoke, askedKeys(op)|answeredKeys(op))
	}
	if err == nil && (op.TTLAsked < 0 || op.TTLAsked > maxTTL) {
		err = fmt.Errorf("a ttl of %d ms", op.TTLAsked)
	}
	if err != nil {
		return nil, fmt.Errorf("record invocation: %w", err)
	}
	op.Text = clean(op.Text)
	op.Invoke = r.clock()
	r.next++
	return appendInvoke(r.buf[:0], noIndex, op), nil
}

// Answer stamps and writes the answer to the operation with that id: its Type
// and what an answer of that type can bring. Everything else in a is not looked
// at, so that a may be the operation itself, filled in. White space in Error is
// made single spaces, so that it stays one line.
func (r *Recorder) Answer(id int64, a Operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, ok := r.open[id]
	if !ok {
		return fmt.Errorf("record answer: no open operation %d", id)
	}
	if a.Type != OK && a.Type != Fail && a.Type != Info {
		return fmt.Errorf("record answer: unknown type %q", a.Type)
	}
	o := r.answered(id, q, &a)
	if q.grant != "" && o.Grant != "" && o.Grant != q.grant {
		return fmt.Errorf("record answer: grant %q was invoked as %q", o.Grant, q.grant)
	}
	if o.GrantLate = q.grant == "" && o.Grant != ""; !o.GrantLate {
		o.Grant = ""
	}
	o.Return = r.clock()
	if err := r.write(appendAnswer(r.buf[:0], noIndex, &o)); err != nil {
		return err
	}
	delete(r.open, id)
	return nil
}

// answered keeps of a what an answer can bring.
func (r *Recorder) answered(id int64, q asked, a *Operation) Operation {
	o := Operation{Process: r.process, ID: id, F: q.f, Type: a.Type}
	allowed := allowedKeys(r.process, q.f, a.Type)
	if allowed.has(keyGrant) {
		o.Grant = a.Grant
	}
	if allowed.has(keyTTL) {
		o.TTL = max(a.TTL, 0)
	}
	if allowed.has(keyToken) {
		o.Token = a.Token
	}
	if allowed.has(keyValue) {
		o.Value = a.Value
	}
	if allowed.has(keySeq) {
		o.Seq = a.Seq
	}
	if allowed.has(keyHeld) {
		o.Held = a.Held
	}
	if allowed.has(keyCount) {
		o.HoldsLeft = a.HoldsLeft
	}
	if allowed.has(keyError) {
		o.Error = clean(a.Error)
	}
	return o
}

// Instant records something that has no duration, such as lost: an invocation
// and an ok with one stamp.
func (r *Recorder) Instant(op Operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line, err := r.invoke(&op)
	if err != nil {
		return err
	}
	op.Type, op.Return = OK, op.Invoke
	return r.write(appendAnswer(line, noIndex, &op))
}

// write writes whole lines in one call. After a failed write it writes nothing
// more: a line that follows half a line could not be read.
func (r *Recorder) write(lines []byte) error {
	r.buf = lines[:0]
	if r.err != nil {
		return r.err
	}
	if len(lines) > maxLine {
		return fmt.Errorf("record event: %w", errLongLine)
	}
	n, err := r.w.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	if err != nil {
		r.err = fmt.Errorf("write event: %w", err)
	}
	return r.err
}

// clean makes a text one short line of valid UTF-8.
func clean(s string) string {
	plain := len(s) <= maxReason && utf8.ValidString(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] > ' ' || s[i] == ' ' && i > 0 && i < len(s)-1 && s[i-1] != ' '
	}
	if plain {
		return s
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	for len(s) > maxReason {
		s = s[:maxReason]
		for len(s) > 0 && !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return strings.TrimSpace(s)
}
