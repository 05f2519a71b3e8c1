package edn

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/leasehold-checker/leasehold/histories"
)

// Decode reads a history.edn. The name stands in messages. What it returns is valid
// (see [histories.Validate]); errors name file and line.
func Decode(r io.Reader, name string) (*histories.History, error) {
	return DecodeWithin(r, name, histories.Limits{})
}

// DecodeWithin is [Decode] within these limits.
func DecodeWithin(r io.Reader, name string, limits histories.Limits) (*histories.History, error) {
	d := decoder{name: name, limits: limits, values: map[string]string{}, open: map[party]int{}}
	if err := d.read(r); err != nil {
		return nil, err
	}
	h := &histories.History{Source: name}
	h.Header.Fence, h.Header.Tokens = histories.FenceOff, histories.TokensNone
	if err := d.build(h); err != nil {
		return nil, err
	}
	if err := histories.Validate(h); err != nil {
		return nil, err
	}
	return h, nil
}

// Is looks whether a file is EDN, given its first bytes: a map whose keys are
// keywords, a vector or list, a tagged map, or a comment before one of them.
func Is(first []byte) bool {
	s := newSource(bytes.NewReader(first), "")
	s.between()
	switch c := s.peek(); c {
	case '{':
		s.take()
		s.space()
		return s.peek() == ':'
	case '[', '(':
		return true
	case '#':
		s.take()
		next := s.peek()
		s.atom()
		s.space()
		return letter(next) && s.peek() == '{'
	}
	return false
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// call is an invocation and its completion.
type call struct {
	process  int64
	f        string
	kind     histories.Type // of the completion; "": there is none
	line     int
	from, to int64 // ns
	at, done int64 // the same as positions in the file
	asked    string
	got      string
	err      string
	lock     string // of acquire and release
}

// party is who can have one operation open. The nemesis can do several things at
// once, if they have different names.
type party struct {
	process int64
	f       string // of the nemesis only
}

// decoder turns events into calls, then calls into operations: what a value means
// is known only when all of them were seen.
type decoder struct {
	name     string
	limits   histories.Limits
	values   map[string]string // seen lately
	held     int64             // bytes of values
	calls    []call
	open     map[party]int // places of calls without a completion
	untimed  int           // line of the first event without a time; 0: none
	warnings []string
}

func (d *decoder) read(r io.Reader) error {
	in := reader{source: newSource(r, d.name)}
	for position := int64(0); ; position++ {
		f, line, err := in.next()
		switch {
		case err == io.EOF && position == 0:
			return atLine(d.name, 1, errors.New("empty file"))
		case err == io.EOF:
			return nil
		case err == errTorn && in.closing == 0 && position > 0:
			d.warnings = append(d.warnings, atLine(d.name, line, errors.New("dropped the last operation, which is torn")).Error())
			return nil
		case err == errTorn:
			return atLine(d.name, line, err)
		case err != nil:
			return err
		}
		e, err := d.event(&f, line)
		if err == nil {
			err = d.add(&e, position)
		}
		if err == nil {
			err = d.limits.Allow(len(d.calls), d.held)
		}
		if err != nil {
			return atLine(d.name, line, err)
		}
	}
}

// add pairs an event with the call that it belongs to.
func (d *decoder) add(e *event, position int64) error {
	if !e.timed && d.untimed == 0 {
		d.untimed = e.line
	}
	who := party{process: e.process}
	if e.process == byNemesis {
		who.f = e.f
	}
	place, busy := d.open[who]
	if e.process == byNemesis && e.kind == histories.Info && !busy {
		e.kind = histories.Invoke // Jepsen's nemesis says :info twice
	}
	if e.kind == histories.Invoke {
		if busy {
			return fmt.Errorf("process %s invokes :%s, but its :%s of line %d is still open", worker(e.process), e.f, d.calls[place].f, d.calls[place].line)
		}
		d.open[who] = len(d.calls)
		d.calls = append(d.calls, call{
			process: e.process, f: e.f, line: e.line, from: e.time, at: position, asked: e.value, to: histories.Never, done: histories.Never,
		})
		return nil
	}
	if !busy {
		return fmt.Errorf("completion of :%s, which process %s did not invoke before", e.f, worker(e.process))
	}
	c := &d.calls[place]
	if c.f != e.f {
		return fmt.Errorf("process %s completes :%s, but has invoked :%s in line %d", worker(e.process), e.f, c.f, c.line)
	}
	delete(d.open, who)
	c.kind, c.to, c.done, c.got, c.err = e.kind, e.time, position, e.value, e.err
	d.held += int64(len(e.err))
	return nil
}

func worker(process int64) string {
	if process == byNemesis {
		return histories.Nemesis
	}
	return strconv.FormatInt(process, 10)
}

// build makes the operations of a history.
func (d *decoder) build(h *histories.History) error {
	if d.untimed > 0 {
		d.warn("no :time in line %d: positions stand for times", d.untimed)
		for i := range d.calls {
			c := &d.calls[i]
			c.from, c.to = c.at, c.done
		}
	}
	var locks, registers []*call
	b := builder{decoder: d, h: h, parsed: map[string]any{}}
	for i := range d.calls {
		switch c := &d.calls[i]; {
		case c.process == byNemesis:
			b.nemesis(c)
		case c.f == "acquire" || c.f == "release":
			locks = append(locks, c)
		case c.f == "read" || c.f == "write" || c.f == "cas":
			registers = append(registers, c)
		default:
			return atLine(d.name, c.line, fmt.Errorf(":f :%.40s is none of a lock (acquire, release) or a register (read, write, cas)", c.f))
		}
	}
	if err := b.lockCalls(locks); err != nil {
		return err
	}
	if err := b.registerCalls(registers, len(locks) > 0); err != nil {
		return err
	}
	b.finish()
	return nil
}

func (d *decoder) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf("%s: "+format, append([]any{cmp.Or(d.name, "history")}, args...)...))
}

// builder collects the operations of a history.
type builder struct {
	*decoder
	h      *histories.History
	ops    []placed
	parsed map[string]any // values seen lately
}

// placed is an operation with the place of its invocation in the file, which decides
// at equal times.
type placed struct {
	op histories.Operation
	at int64
}

// operation begins the operation of a call.
func (b *builder) operation(c *call, f histories.F) histories.Operation {
	o := histories.Operation{Process: worker(c.process), F: f, Type: c.kind, Invoke: c.from, Return: c.to, Line: c.line}
	if c.kind == "" {
		o.Type = histories.Info
	}
	if o.Type != histories.OK {
		o.Error = c.err
	}
	return o
}

func (b *builder) add(o histories.Operation, at int64) { b.ops = append(b.ops, placed{o, at}) }

// parse reads a value of a call, often one seen before.
func (b *builder) parse(c *call, raw string) (any, error) {
	if raw == "" {
		return nil, nil
	}
	if v, known := b.parsed[raw]; known {
		return v, nil
	}
	v, err := parse(raw)
	if err != nil {
		return nil, atLine(b.name, c.line, err)
	}
	if len(b.parsed) < maxValues {
		b.parsed[raw] = v
	}
	return v, nil
}

// finish sorts the operations, and numbers them within their process.
func (b *builder) finish() {
	slices.SortStableFunc(b.ops, func(x, y placed) int {
		return cmp.Or(cmp.Compare(x.op.Invoke, y.op.Invoke), cmp.Compare(x.at, y.at))
	})
	next := map[string]int64{}
	b.h.Ops = make([]histories.Operation, len(b.ops))
	for i := range b.ops {
		o := b.ops[i].op
		o.ID = next[o.Process]
		next[o.Process]++
		b.h.Ops[i] = o
	}
	b.h.Warnings = b.warnings
}
