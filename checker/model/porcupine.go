package model

import (
	"cmp"
	"context"
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
	Memory int64 // bytes that Porcupine may remember, by a cautious estimate; default 512 MiB
	Chunk  int   // operations that are handed to Porcupine at a time, where they can be cut; default 256
}

func (l Limits) memory() int64 { return cmp.Or(l.Memory, 512<<20) }
func (l Limits) chunk() int    { return cmp.Or(l.Chunk, 256) }

// Decide asks Porcupine one question. The context's deadline is the time limit.
func (r *Resource) Decide(ctx context.Context, q Question, limits Limits) Answer {
	if ctx.Err() != nil {
		return Undecided
	}
	t := newTask(ctx, r, q)
	switch {
	case t.unready:
		return Undecided
	case t.impossible:
		return Illegal
	}
	state := t.start
	for _, chunk := range t.chunks(limits.chunk()) {
		if answer := t.ask(ctx, state, chunk, limits.memory()); answer != Legal {
			return answer
		}
		for _, i := range chunk {
			state, _ = t.step(state, int(i)) // of no matter after the last chunk
		}
	}
	return Legal
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
func (t *task) ask(ctx context.Context, start State, chunk []int32, memory int64) Answer {
	if len(chunk) == 0 {
		return Legal
	}
	if ctx.Err() != nil {
		return Undecided
	}
	limit := time.Duration(0) // none
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), 1)
	}
	var spent atomic.Int64
	cost := int64(len(chunk)/8) + entryBytes
	model := t.model(start)
	model.Step = func(state, input, _ any) (bool, any) {
		// Out of memory or cancelled: refuse everything, so that the search ends.
		// Its answer is then worth nothing, and is not used.
		if spent.Load() > memory || ctx.Err() != nil {
			return false, state
		}
		next, ok := t.step(state.(State), input.(int))
		if ok {
			spent.Add(cost + int64(len(next.fronts)+len(next.fresh)+len(next.placed)))
		}
		return ok, next
	}
	result := porcupine.CheckOperationsTimeout(model, t.operations(chunk), limit)
	switch {
	case result == porcupine.Unknown || spent.Load() > memory || ctx.Err() != nil:
		return Undecided
	case result == porcupine.Ok:
		return Legal
	}
	return Illegal
}

// entryBytes is what Porcupine's memory of one state takes beside its bits and the
// strings: map entry, slices, boxed State.
const entryBytes = 300

func (t *task) model(start State) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := t.step(state.(State), input.(int))
			return ok, next
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(State)) },
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
