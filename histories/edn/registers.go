package edn

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
)

// onlyRegister is the register of a file that names none.
const onlyRegister = "R"

// registerOp is a call on a register, understood.
type registerOp struct {
	*call
	key     string
	read    histories.Option[string]
	written histories.Option[string]
}

// registerCalls makes the operations on registers.
func (b *builder) registerCalls(calls []*call, locked bool) error {
	ops, err := b.understand(calls)
	if err != nil || len(ops) == 0 {
		return err
	}
	if locked && !b.guard(ops) {
		b.warn("nothing says that a lock guards the registers: their %d operations are left out", len(ops))
		return nil
	}
	ops = b.initial(ops)
	swaps := 0
	for i := range ops {
		if o := &ops[i]; o.f == "cas" {
			swaps++
			b.swap(o)
		} else {
			b.plain(o)
		}
	}
	if swaps > 0 {
		b.warn("%d :cas are taken for a read and a write, and other writes may come between: what gets lost there is not judged", swaps)
	}
	return nil
}

// plain adds a read or a write.
func (b *builder) plain(o *registerOp) {
	op := b.operation(o.call, histories.F(o.f))
	op.Resource = o.key
	if op.Value = o.written; op.F == histories.Read && op.Type == histories.OK {
		op.Value = o.read
	}
	b.add(op, o.at)
}

// swap adds a compare-and-set as a read, and a write by a worker of its own: both
// may lie anywhere in its time. Parted in the middle, the two would say when it
// happened, which nobody knows.
func (b *builder) swap(o *registerOp) {
	write := b.operation(o.call, histories.Write)
	write.Process += "-cas"
	write.Resource, write.Value = o.key, o.written
	b.add(write, o.at)
	if write.Type != histories.OK || !o.read.Known() {
		return
	}
	read := b.operation(o.call, histories.Read)
	read.Resource, read.Value = o.key, o.read
	b.add(read, o.at)
}

// understand reads the values of calls on registers.
func (b *builder) understand(calls []*call) ([]registerOp, error) {
	form, err := b.formOf(calls)
	if err != nil {
		return nil, err
	}
	ops := make([]registerOp, len(calls))
	for i, c := range calls {
		ops[i].call = c
		asked, err := b.parse(c, c.asked)
		if err != nil {
			return nil, err
		}
		got, err := b.parse(c, c.got)
		if err != nil {
			return nil, err
		}
		if err := ops[i].fill(form, asked, got); err != nil {
			return nil, atLine(b.name, c.line, fmt.Errorf(":%s of process %s: %w", c.f, worker(c.process), err))
		}
	}
	return ops, nil
}
