package histories

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// joiner pairs invocations with their answers.
type joiner struct {
	ops   opList // an operation without Type is still open
	index int64  // the last one seen; -1: none
	procs map[string]*process
}

func newJoiner() *joiner { return &joiner{index: -1, procs: map[string]*process{}} }

// process is what a joiner knows of one process.
type process struct {
	ops      idTable
	last     int64 // time of its last event
	lastLine int
}

// add takes the next event, which passes its own check.
func (j *joiner) add(e *event) error {
	if err := j.nextIndex(e); err != nil {
		return err
	}
	p := j.process(e.process())
	if e.time() < p.last {
		return fmt.Errorf("time runs backwards in process %s: %d ns, after %d ns in line %d", e.process(), e.time(), p.last, p.lastLine)
	}
	p.last, p.lastLine = e.time(), e.line
	if e.kind == Invoke {
		return j.invoke(p, e)
	}
	return j.answer(p, e)
}

// nextIndex checks that positions grow. They may leave gaps, so that a history
// can be cut down to one lock with a line filter.
func (j *joiner) nextIndex(e *event) error {
	if !e.keys.has(keyIndex) {
		return nil
	}
	index := e.numbers[keyIndex]
	if index <= j.index {
		return fmt.Errorf("index %d, after %d", index, j.index)
	}
	j.index = index
	return nil
}

func (j *joiner) process(name string) *process {
	p := j.procs[name]
	if p == nil {
		p = &process{}
		j.procs[name] = p
	}
	return p
}

func (j *joiner) invoke(p *process, e *event) error {
	if place, twice := p.ops.get(e.id()); twice {
		return fmt.Errorf("op %d of process %s was invoked before, in line %d", e.id(), e.process(), j.ops.at(place).Line)
	}
	p.ops.put(e.id(), j.ops.len)
	o := j.ops.add()
	o.Process, o.ID, o.F, o.Invoke, o.Line = e.process(), e.id(), e.f(), e.time(), e.line
	e.fill(o)
	return nil
}

func (j *joiner) answer(p *process, e *event) error {
	place, known := p.ops.get(e.id())
	if !known {
		return fmt.Errorf("%s of op %d of process %s, which was not invoked before", e.kind, e.id(), e.process())
	}
	o := j.ops.at(place)
	switch {
	case o.Type != "":
		return fmt.Errorf("op %d of process %s has an answer already", e.id(), e.process())
	case o.F != e.f():
		return fmt.Errorf("op %d of process %s is answered as %s, but was invoked as %s in line %d", e.id(), e.process(), e.f(), o.F, o.Line)
	case o.Grant != "" && e.keys.has(keyGrant):
		return errors.New("grant is named twice: by the invocation and by the answer")
	}
	o.Type, o.Return = e.kind, e.time()
	e.fill(o)
	return nil
}

// finish makes every operation without an answer info, and sorts by invocation.
func (j *joiner) finish() []Operation {
	ops := j.ops.join()
	for i := range ops {
		if ops[i].Type == "" {
			ops[i].Type, ops[i].Return = Info, Never
		}
	}
	sortOps(ops)
	return ops
}

// sortOps sorts by invocation. Equal invocations keep their order.
func sortOps(ops []Operation) {
	for i := 1; i < len(ops); i++ {
		if ops[i].Invoke < ops[i-1].Invoke {
			slices.SortStableFunc(ops, func(a, b Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
			return
		}
	}
}
