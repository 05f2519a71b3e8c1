package histories

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// DecodeJSONL reads a history in JSON Lines, format version 1: a header, then
// events of any number of processes, sorted by time within each. The name stands
// in messages. What it returns is valid (see [Validate]); errors name file and
// line.
//
// A last line that was torn off by a crash (no newline, no whole object) is
// dropped, which History.Warnings says; a torn line elsewhere is an error.
// An operation without an answer becomes info.
func DecodeJSONL(r io.Reader, name string) (*History, error) {
	return Limits{}.DecodeJSONL(r, name)
}

// DecodeJSONL is [DecodeJSONL] within these limits.
func (l Limits) DecodeJSONL(r io.Reader, name string) (*History, error) {
	return l.decodeJSONL(r, name, 0)
}

// decodeJSONL is told the size of the input, in bytes; 0: unknown.
func (l Limits) decodeJSONL(r io.Reader, name string, size int64) (*History, error) {
	d := decoder{blocks: newBlockReader(r, name), limits: l, size: size}
	h := &History{Source: name}
	var err error
	if h.Header, err = d.header(); err != nil {
		return nil, err
	}
	if h.Ops, h.Warnings, err = d.events(); err != nil {
		return nil, err
	}
	if err := Validate(h); err != nil {
		return nil, err
	}
	return h, nil
}

// EncodeJSONL writes a valid history in its canonical form: events sorted by
// time, each with its index. Decoding what it wrote gives the same history, but
// for Line, Source and Warnings.
func EncodeJSONL(w io.Writer, h *History) error {
	if err := Validate(h); err != nil {
		return fmt.Errorf("encode history: %w", err)
	}
	header, err := encodeHeader(h.Header)
	if err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	out := bufio.NewWriterSize(w, 1<<16)
	out.Write(append(header, '\n')) // a bufio.Writer keeps its first error for Flush
	var line []byte
	for index, s := range steps(h.Ops) {
		o := &h.Ops[s.op]
		if s.answer {
			line = appendAnswer(line[:0], int64(index), o)
		} else {
			line = appendInvoke(line[:0], int64(index), o)
		}
		if len(line) > maxLine {
			return fmt.Errorf("encode op %d of process %s: %w", o.ID, o.Process, errLongLine)
		}
		out.Write(line)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// step is one event of a history.
type step struct {
	time   int64
	op     int // place in History.Ops
	answer bool
}

// steps puts the events of a history in order. At equal times the answers to
// older invocations come first, so that a process never has two operations open
// that only touch each other; then the invocations in the order of the history,
// each directly followed by its answer if it is an instant.
func steps(ops []Operation) []step {
	all := make([]step, 0, 2*len(ops))
	for i := range ops {
		all = append(all, step{time: ops[i].Invoke, op: i})
		if ops[i].Return != Never {
			all = append(all, step{time: ops[i].Return, op: i, answer: true})
		}
	}
	late := func(s step) int { // 0: the answer to something older
		if s.answer && !ops[s.op].Instant() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b step) int {
		if c := cmp.Compare(a.time, b.time); c != 0 {
			return c
		}
		if c := cmp.Compare(late(a), late(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.op, b.op) // stable: an invocation stays before its own answer
	})
	return all
}
