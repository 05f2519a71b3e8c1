// Package jit decides whether operations with intervals have an order that a
// sequential specification accepts: linearizability, by just-in-time linearization
// (G. Lowe, "Testing for linearizability", 2017).
//
// It goes through time once. After every return it keeps the configurations that the
// operations so far may have led to: the state, which of the open operations were
// taken already, and which of those that may not have happened. An operation is taken
// no earlier than some return asks for it. Where no configuration survives a return,
// there is no order, and what was called until then is the shortest beginning that
// has none.
//
// Beside what a search by depth does (Porcupine) it remembers nothing of the past,
// so its memory grows with what is open at once, not with the length. Four
// reductions, all exact, keep the configurations few:
//
//   - Observers first: an open read that is legal and leaves the state alone is taken
//     at once. Whatever is possible without it is possible with it. (That is not so for
//     a write of the value that is there already: it may be wanted later, to bring the
//     value back.)
//   - Dominance: of two configurations that differ only in the operations that may
//     not have happened, the one that used fewer can do all that the other can.
//   - Twins: of several such operations with one effect, the first unused one
//     stands for all.
//   - One that would not change the state is not taken.
package jit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Operation is an operation in time. The interval is closed: an operation precedes
// another if it returned before the other was called; equal times are concurrent.
type Operation struct {
	Call int64
	// Return of an optional operation is the time from which on it could change nothing
	// that anybody sees; it is never due.
	Return   int64
	Optional bool    // it may not have happened
	Needs    []int32 // operations that come before it, whatever the intervals say; none of them optional
	// Observer: where the operation leaves the state alone, it would leave alone every
	// state that can follow.
	Observer bool
	// Twin is a number that optional operations share if one can stand for the other:
	// they have one effect, one Return, and no Needs. -1: none.
	Twin int32
}

// Problem is the operations and their specification.
type Problem[S comparable] struct {
	Operations []Operation
	Start      S
	Step       func(state S, operation int32) (next S, legal bool) // pure
	Size       func(state S) int                                   // bytes of a state beside itself; nil: none
}

// Limits bound the work, so that an answer depends on no clock.
type Limits struct {
	Steps  int   // calls of Step
	Memory int64 // bytes of configurations that are kept at once, by estimate
}

// Answer is what Decide found out.
type Answer struct {
	// Order, if there is one, and Decided: all operations that are not optional, and
	// the optional ones that happened in it.
	Order []int32
	// Failed, if there is no order, and Decided: the operations called until the first
	// return that no order of theirs survives, ascending.
	Failed  []int32
	Decided bool
	Why     string // not Decided: the limit that was reached, as a clause
}

// Decide looks for an order. It is undecided if ctx ends, the limits are reached or
// more than 256 operations are open at once.
func Decide[S comparable](ctx context.Context, p Problem[S], limits Limits) Answer {
	s := newSearch(ctx, p, limits)
	for _, e := range events(p.Operations) {
		switch e.kind {
		case called:
			s.call(e.operation)
		case returned:
			s.settle(e.operation)
		case useless:
			s.forget(e.operation)
		}
		switch {
		case s.why != "":
			return Answer{Why: s.why}
		case len(s.front) == 0:
			return Answer{Decided: true, Failed: s.called()}
		}
	}
	return Answer{Decided: true, Order: s.front[0].order()}
}

type event struct {
	time      int64
	kind      kind
	operation int32
}

// kind sorts what happens at one time: intervals are closed, so calls come first; and
// an operation is of use until all that return then have returned.
type kind int8

const (
	called kind = iota
	returned
	useless
)

func events(operations []Operation) []event {
	list := make([]event, 0, 2*len(operations))
	for i := range operations {
		o := &operations[i]
		end := event{o.Return, returned, int32(i)}
		if o.Optional {
			end.kind = useless
		}
		list = append(list, event{o.Call, called, int32(i)}, end)
	}
	slices.SortFunc(list, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.kind, b.kind), cmp.Compare(a.operation, b.operation))
	})
	return list
}

func tooMany(open int) string { return fmt.Sprintf("more than %d operations open at once", open) }
