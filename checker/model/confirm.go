package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrFault says that the checker itself is at fault. There is no verdict then; whoever
// gets it should save the history.
var ErrFault = errors.New("a fault of the checker")

// ErrCertificate is the [ErrFault] that the proof of a decision is none.
var ErrCertificate = fmt.Errorf("a proof does not hold: %w", ErrFault)

// ErrUnconfirmed says that a proof could not be checked within the limits of time
// and memory. It is no fault, and the decision is worth nothing.
var ErrUnconfirmed = errors.New("a proof is too large to be checked")

// Confirm checks the proof of a decision, and trusts nothing of how it was found.
//
// Legal: the order is walked over once. It has to hold every acknowledged operation,
// each operation once, be true to [Precedes], and be accepted step by step by the
// specification that Porcupine gets.
//
// Illegal: Porcupine has to find the core illegal by itself, and the core has to be
// one whose illegality says something about the whole (see confirmCore).
//
// The error is [ErrCertificate] if the proof is none, [ErrUnconfirmed] if the context
// or the limits end before that is known. Undecided needs no proof.
func (r *Resource) Confirm(ctx context.Context, q Question, d Decision) error {
	var err error
	switch d.Answer {
	case Legal:
		err = r.confirmOrder(ctx, q, d.Order)
	case Illegal:
		err = r.confirmCore(ctx, q, d.Core)
	}
	if err != nil {
		return fmt.Errorf("confirm that resource %q is %s: %w", r.Name, d.Answer, err)
	}
	return nil
}

// confirmCore: leaving out operations keeps a legal order legal, if two things are
// looked after. A read needs all writes that it may have seen (see [Explainers]); and
// a write must not be based on another read than in the whole (on none it may be:
// that only takes a condition away). All grants stay (see [Resource.Only]). So if
// the core is illegal, the whole is.
func (r *Resource) confirmCore(ctx context.Context, q Question, core []int32) error {
	if err := r.ascending(core); err != nil {
		return err
	}
	in := make(map[int32]bool, len(core))
	for _, i := range core {
		in[i] = true
	}
	if q.Values {
		if err := r.closed(core, in); err != nil {
			return err
		}
	}
	part := r.Only(r.Places(core))
	if q.Bases {
		if err := r.sameBases(core, part); err != nil {
			return err
		}
	}
	switch part.Decide(ctx, q, Limits{Memory: coreMemory}) {
	case Illegal:
		return nil
	case Legal:
		return fmt.Errorf("the core has an order, says Porcupine: %w", ErrCertificate)
	}
	return fmt.Errorf("the core of %d operations is too much for Porcupine: %w", len(core), ErrUnconfirmed)
}

// coreMemory is what Porcupine may remember of a core.
const coreMemory = 256 << 20

func (r *Resource) ascending(core []int32) error {
	last := int32(-1)
	for _, i := range core {
		if i <= last || int(i) >= len(r.ops) {
			return fmt.Errorf("operation %d out of place in the core: %w", i, ErrCertificate)
		}
		last = i
	}
	return nil
}

// closed: every read comes with all writes that it may have seen.
func (r *Resource) closed(core []int32, in map[int32]bool) error {
	explainers := r.Explainers()
	for _, i := range core {
		for _, w := range explainers.Of(i) {
			if !in[w] {
				return fmt.Errorf("the core has read %d without write %d, which it may have seen: %w", i, w, ErrCertificate)
			}
		}
	}
	return nil
}

func (r *Resource) sameBases(core []int32, part *Resource) error {
	for k, i := range core {
		whole, here := r.ops[i].Base, part.ops[k].Base
		if here >= 0 && core[here] != whole {
			return fmt.Errorf("write %d has another base in the core: %w", i, ErrCertificate)
		}
	}
	return nil
}

// Closed is a part of the operations, ascending, with what has to be kept with it for
// a question: the writes that its reads may have seen, and the reads on which its
// writes are based. If the part is illegal, this is a core (see [Decision]).
func (r *Resource) Closed(q Question, part []int32) []int32 {
	in, explainers := make([]bool, len(r.ops)), r.Explainers()
	todo := slices.Clone(part)
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if in[i] {
			continue
		}
		in[i] = true
		if q.Values {
			todo = append(todo, explainers.Of(i)...)
		}
		if base := r.ops[i].Base; q.Bases && base >= 0 {
			todo = append(todo, base)
		}
	}
	var core []int32
	for i, is := range in {
		if is {
			core = append(core, int32(i))
		}
	}
	return core
}

// Places are the places in History.Ops of operations (indices into
// [Resource.Operations]), in the same order.
func (r *Resource) Places(indices []int32) []int {
	out := make([]int, len(indices))
	for k, i := range indices {
		out[k] = r.ops[i].At
	}
	return out
}
