package model

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// Answer says whether there is an order of the operations that keeps the rules.
type Answer int

// The answers.
const (
	Undecided Answer = iota // the limits were reached
	Legal
	Illegal
)

func (a Answer) String() string { return [...]string{"undecided", "legal", "illegal"}[a] }

// Limits bound one search. The zero value of a field is its default.
type Limits struct {
	Memory int64 // bytes that a search may remember, by a cautious estimate; default 512 MiB
	Chunk  int   // operations that are handed to Porcupine at a time, where they can be cut; default 256
	Steps  int   // of the just-in-time search; default 2 million, and 60 for each operation
}

func (l Limits) memory() int64 { return cmp.Or(l.Memory, 512<<20) }
func (l Limits) chunk() int    { return cmp.Or(l.Chunk, 256) }

func (l Limits) steps(operations int) int { return cmp.Or(l.Steps, 2_000_000+60*operations) }

// Decide asks Porcupine one question. The context's deadline is the time limit.
func (r *Resource) Decide(ctx context.Context, q Question, limits Limits) Answer {
	return r.DecidePorcupine(ctx, q, limits).Answer
}

// DecidePorcupine is Decide with the order that Porcupine found. For Illegal, which
// Porcupine gives no reason for, the core is everything.
func (r *Resource) DecidePorcupine(ctx context.Context, q Question, limits Limits) Decision {
	if ctx.Err() != nil {
		return Decision{Why: timeLimit}
	}
	t := newTask(ctx, r, q)
	switch {
	case t.over:
		return Decision{Why: timeLimit}
	case t.unready:
		return Decision{Why: tooTangled}
	case t.impossible:
		return Decision{Answer: Illegal, Core: t.everything()}
	}
	state, order := t.start, make([]int32, 0, len(t.in))
	for _, chunk := range t.chunks(limits.chunk()) {
		d := t.ask(ctx, state, chunk, limits.memory())
		if d.Answer != Legal {
			return d
		}
		order = append(order, d.Order...)
		for _, i := range chunk {
			state, _ = t.step(state, int(i)) // of no matter after the last chunk
		}
	}
	return Decision{Answer: Legal, Order: t.completed(order)}
}

func (t *task) everything() []int32 {
	all := make([]int32, len(t.ops))
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// chunks cuts the operations, by call, where all before is one sequence: each
// operation returned before the next one was called. Porcupine remembers a bit for
// every operation with every state, so its memory grows with the square of what it
// gets at once; a register that numbers everything makes sequences of any length.
//
// A cut is exact. A sequence has one order, so the first part ends in one state,
// the one that stepping through it leads to; nothing of the first part may come
// after anything of the second. From the first two operations on that overlap, the
// state is no longer certain, and the rest is one chunk.
func (t *task) chunks(size int) [][]int32 {
	order := t.byCall()
	sure := len(order)
	for k := 1; k < len(order); k++ {
		if t.ret[order[k-1]] >= t.call[order[k]] {
			sure = k - 1
			break
		}
	}
	var out [][]int32
	at := 0
	for ; at+size <= sure && at+size < len(order); at += size {
		out = append(out, order[at:at+size])
	}
	return append(out, order[at:])
}

func (t *task) byCall() []int32 {
	order := slices.Clone(t.in)
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.call[a], t.call[b]), cmp.Compare(t.ret[a], t.ret[b]))
	})
	return order
}

// ask hands one chunk to Porcupine.
func (t *task) ask(ctx context.Context, start State, chunk []int32, memory int64) Decision {
	switch {
	case len(chunk) == 0:
		return Decision{Answer: Legal}
	case ctx.Err() != nil:
		return Decision{Why: timeLimit}
	}
	limit := time.Duration(0) // none
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), 1)
	}
	var spent atomic.Int64
	var last atomic.Pointer[reached]
	cost := int64(len(chunk)/8) + entryBytes
	model := t.model(start)
	model.Step = func(state, input, _ any) (bool, any) {
		// Out of memory or cancelled: refuse everything, so that the search ends.
		// Its answer is then worth nothing, and is not used.
		if spent.Load() > memory || ctx.Err() != nil {
			return false, state
		}
		next, ok := t.reach(state.(*reached), input.(int))
		if !ok {
			return false, state
		}
		spent.Add(cost + int64(len(next.fronts)+len(next.fresh)+len(next.placed)))
		if next.steps == len(chunk) {
			last.Store(next)
		}
		return true, next
	}
	result := porcupine.CheckOperationsTimeout(model, t.operations(chunk), limit)
	switch {
	case result == porcupine.Unknown || ctx.Err() != nil:
		return Decision{Why: timeLimit}
	case spent.Load() > memory:
		return Decision{Why: fmt.Sprintf("more than %d MB of states to remember", memory>>20)}
	case result == porcupine.Ok:
		return Decision{Answer: Legal, Order: last.Load().order()}
	}
	return Decision{Answer: Illegal, Core: t.everything()}
}

// entryBytes is what Porcupine's memory of one state takes beside its bits and the
// strings: map entry, slices, reached.
const entryBytes = 300

// reached is a state with the way to it, which Porcupine does not give away. To
// Porcupine it is the state alone.
type reached struct {
	State
	operation int
	happened  bool // the operation; it may be one that need not
	steps     int
	before    *reached
}

func (t *task) reach(from *reached, i int) (*reached, bool) {
	next, ok := t.take(from.State, i)
	if !ok && !t.unsure[i] {
		return nil, false
	}
	if !ok {
		next = from.State
	}
	return &reached{State: next, operation: i, happened: ok, steps: from.steps + 1, before: from}, true
}

func (s *reached) order() []int32 {
	var order []int32
	for ; s.before != nil; s = s.before {
		if s.happened {
			order = append(order, int32(s.operation))
		}
	}
	slices.Reverse(order)
	return order
}

func (t *task) model(start State) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return &reached{State: start} },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := t.reach(state.(*reached), input.(int))
			if !ok {
				return false, state
			}
			return true, next
		},
		Equal: func(a, b any) bool { return a.(*reached).State == b.(*reached).State },
		Hash:  func(state any) uint64 { return maphash.Comparable(seed, state.(*reached).State) },
	}
}

func (t *task) operations(chunk []int32) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(chunk))
	for _, i := range chunk {
		ops = append(ops, porcupine.Operation{
			ClientId: int(t.ops[i].Worker), Input: int(i), Call: t.call[i], Return: t.ret[i],
		})
	}
	return ops
}
