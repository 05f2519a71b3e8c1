package model

import (
	"context"
	"fmt"
	"math"
)

// maxReplay bounds what a replay may copy, in bytes. A step copies what the state
// remembers, which is little, but for histories that are made to hurt: a hundred
// thousand grants of one worker that read first and write later, or thousands of
// locks that guard one resource.
const maxReplay = 4 << 30

// confirmOrder checks an order in three walks, each linear.
func (r *Resource) confirmOrder(ctx context.Context, q Question, order []int32) error {
	if err := r.complete(order); err != nil {
		return err
	}
	if err := r.faithful(order, q.SeqOnly); err != nil {
		return err
	}
	return r.replay(ctx, q, order)
}

// complete: every operation at most once, every acknowledged one exactly once.
func (r *Resource) complete(order []int32) error {
	in := make([]bool, len(r.ops))
	for _, i := range order {
		if i < 0 || int(i) >= len(r.ops) || in[i] {
			return fmt.Errorf("operation %d twice, or none at all: %w", i, ErrCertificate)
		}
		in[i] = true
	}
	for i := range r.ops {
		if r.ops[i].Acked && !in[i] {
			return fmt.Errorf("acknowledged operation %d is left out: %w", i, ErrCertificate)
		}
	}
	return nil
}

// faithful: nothing stands behind an operation that it must precede. There are as many
// pairs as the square of the operations, so each operation is compared with the
// extremes of all before it, once for each clause of [Precedes]: numbers with the
// last number, time and the worker's order with the latest that came so far. Two
// numbered operations are compared by their numbers alone, so there are extremes of
// all and extremes of the unnumbered.
func (r *Resource) faithful(order []int32, seqOnly bool) error {
	var numbered *Operation
	all, plain := newLatest(), newLatest()
	for _, i := range order {
		o := &r.ops[i]
		late := &all
		if o.Numbered {
			if late = &plain; numbered != nil && Precedes(o, numbered) {
				return fmt.Errorf("operation %d comes after one with a higher number: %w", i, ErrCertificate)
			}
			numbered = o
		}
		if seqOnly {
			continue
		}
		if o.Acked && late.passed(o) {
			return fmt.Errorf("operation %d comes after one that it certainly preceded: %w", i, ErrCertificate)
		}
		all.add(o)
		if !o.Numbered {
			plain.add(o)
		}
	}
	return nil
}

// latest is, of some operations, the latest invocation, and for each worker the last
// in its own order.
type latest struct {
	invoke int64
	own    map[int32]int
}

func newLatest() latest { return latest{invoke: math.MinInt64, own: map[int32]int{}} }

func (l *latest) add(o *Operation) {
	l.invoke = max(l.invoke, o.Invoke)
	l.own[o.Worker] = max(l.own[o.Worker], o.At+1)
}

// passed tells whether o, which was answered, must precede one of them.
func (l *latest) passed(o *Operation) bool {
	return o.Answer < l.invoke || l.own[o.Worker] > o.At+1
}

// replay walks through the order with the step that Porcupine gets. The marks of a
// task are not needed: they say what must come before what, and that was checked.
func (r *Resource) replay(ctx context.Context, q Question, order []int32) error {
	s := newSpec(r, q)
	for _, i := range order {
		if o := &r.ops[i]; o.Write && o.Base >= 0 {
			s.uses[o.Base]++
		}
	}
	state, copied := s.start, int64(0)
	for n, i := range order {
		next, ok := s.step(state, int(i))
		if !ok {
			return fmt.Errorf("operation %d at place %d of the order breaks a rule: %w", i, n, ErrCertificate)
		}
		state = next
		copied += int64(len(state.fresh) + len(state.fronts))
		if n%(1<<12) == 0 && (ctx.Err() != nil || copied > maxReplay) {
			return fmt.Errorf("replay stopped at place %d of the order: %w", n, ErrUnconfirmed)
		}
	}
	return nil
}
