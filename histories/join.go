package histories

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// joiner pairs invocations with their answers.
type joiner struct {
	blocks [][]Operation // an operation without Type is still open
	count  int
	procs  map[string]*process
}

// blockSize is the number of operations in a block. Growing one slice would copy
// each operation several times.
const blockSize = 1024

func (j *joiner) at(place int) *Operation { return &j.blocks[place/blockSize][place%blockSize] }

// append adds an operation, and gives its place.
func (j *joiner) append(o *Operation) int {
	switch {
	case j.count == 0:
		j.blocks = append(j.blocks, nil) // most files are short
	case j.count%blockSize == 0:
		j.blocks = append(j.blocks, make([]Operation, 0, blockSize))
	}
	last := &j.blocks[len(j.blocks)-1]
	*last = append(*last, *o)
	j.count++
	return j.count - 1
}

// process is what a joiner knows of one process.
type process struct {
	ops      idTable
	last     int64 // time of its last event
	lastLine int
}

// add takes the next event, from the given line.
func (j *joiner) add(e *event, line int) error {
	o := &e.op
	if err := checkFunction(o.Process, o.F); err != nil {
		return err
	}
	attributes := e.keys &^ (required | 1<<keyIndex)
	if err := checkKeys(o.Process, o.F, o.Type, attributes); err != nil {
		return err
	}
	if e.keys.has(keyTTL) && o.TTL <= 0 {
		return fmt.Errorf("ttl_ms %d is not positive", o.TTL)
	}
	p := j.process(o.Process)
	if e.time < 0 {
		return fmt.Errorf("time_ns %d is negative", e.time)
	}
	if e.time < p.last {
		return fmt.Errorf("time runs backwards in process %s: %d ns, after %d ns in line %d", o.Process, e.time, p.last, p.lastLine)
	}
	p.last, p.lastLine = e.time, line
	if o.Type == Invoke {
		return j.invoke(p, e, line)
	}
	return j.answer(p, e)
}

func (j *joiner) process(name string) *process {
	p := j.procs[name]
	if p == nil {
		if j.procs == nil {
			j.procs = map[string]*process{}
		}
		p = &process{}
		j.procs[name] = p
	}
	return p
}

func (j *joiner) invoke(p *process, e *event, line int) error {
	if place, twice := p.ops.get(e.op.ID); twice {
		return fmt.Errorf("op %d of process %s was invoked before, in line %d", e.op.ID, e.op.Process, j.at(place).Line)
	}
	place := j.append(&e.op)
	p.ops.put(e.op.ID, place)
	o := j.at(place)
	o.Type, o.Invoke, o.Line = "", e.time, line
	o.TTLAsked, o.TTL = o.TTL, 0
	return nil
}

func (j *joiner) answer(p *process, e *event) error {
	a := &e.op
	place, known := p.ops.get(a.ID)
	if !known {
		return fmt.Errorf("%s of op %d of process %s, which was not invoked before", a.Type, a.ID, a.Process)
	}
	o := j.at(place)
	switch {
	case o.Type != "":
		return fmt.Errorf("op %d of process %s has an answer already", a.ID, a.Process)
	case o.F != a.F:
		return fmt.Errorf("op %d of process %s is answered as %s, but was invoked as %s in line %d", a.ID, a.Process, a.F, o.F, o.Line)
	case a.Grant != "" && o.Grant != "":
		return errors.New("grant is named twice: by the invocation and by the answer")
	}
	o.Type, o.Return = a.Type, e.time
	o.TTL, o.Seq, o.Held, o.HoldsLeft, o.Error = a.TTL, a.Seq, a.Held, a.HoldsLeft, a.Error
	if a.Grant != "" {
		o.Grant, o.GrantLate = a.Grant, true
	}
	if a.Token.Known() {
		o.Token = a.Token
	}
	if a.Value.Known() {
		o.Value = a.Value
	}
	return nil
}

// finish makes every operation without an answer info, and sorts by invocation.
func (j *joiner) finish() []Operation {
	ops := slices.Concat(j.blocks...)
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
