package model

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// world makes small random histories: workers on a coarse clock (so that times
// touch), each operation taking effect at one point of its interval, on a lock and a
// resource that make a mistake now and then.
type world struct {
	*rand.Rand
	fence     histories.Fence
	tokens    bool
	numbers   int // of operations: 0 none, 1 all, 2 some
	mistakes  float64
	unknown   float64
	token     int64
	commits   int64
	value     string
	written   int
	highest   int64
	mine      map[string]int64 // newest token
	grants    map[string]int
	resources int
}

type planned struct {
	op histories.Operation
	at float64 // when it takes effect
}

func randomHistory(r *rand.Rand) *histories.History {
	w := &world{
		Rand: r, fence: []histories.Fence{histories.FenceOff, histories.FenceWrites, histories.FenceAll}[r.IntN(3)],
		tokens: r.IntN(4) > 0, numbers: r.IntN(3), mistakes: []float64{0, 0.1, 0.4}[r.IntN(3)],
		unknown: []float64{0, 0.1, 0.35}[r.IntN(3)], value: "v0", mine: map[string]int64{}, grants: map[string]int{},
	}
	plan := w.plan()
	order := slices.Clone(plan)
	slices.SortStableFunc(order, func(a, b *planned) int { return cmp.Compare(a.at, b.at) })
	for _, p := range order {
		w.happen(&p.op)
	}
	slices.SortStableFunc(plan, func(a, b *planned) int { return cmp.Compare(a.op.Invoke, b.op.Invoke) })
	h := &histories.History{Header: histories.Header{Fence: w.fence, Tokens: histories.TokensOrdered,
		Guards: []histories.Guard{{Lock: "L", Resource: "R"}}, Initial: map[string]string{"R": "v0"}}}
	if !w.tokens {
		h.Header.Tokens = histories.TokensNone
	}
	for i, p := range plan {
		p.op.ID = int64(i)
		h.Ops = append(h.Ops, p.op)
	}
	return h
}

func (w *world) plan() []*planned {
	workers, long := 1+w.IntN(3), w.IntN(6)
	clock := make([]int64, workers)
	var plan []*planned
	for range 4 + w.IntN(10) {
		who := w.IntN(workers)
		p := &planned{op: histories.Operation{Process: string(rune('A' + who)), Type: histories.OK}}
		p.op.Invoke = clock[who] + w.Int64N(3)
		p.op.Return = p.op.Invoke + w.Int64N(int64(long)+1)
		clock[who] = p.op.Return
		p.at = float64(p.op.Invoke) + w.Float64()*float64(p.op.Return-p.op.Invoke) + w.Float64()/100
		if w.chance(w.unknown) {
			p.op.Type = histories.Info
			if w.chance(0.5) {
				p.at += 10 * w.Float64()
			}
		}
		plan = append(plan, p)
	}
	return plan
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

func (w *world) happen(o *histories.Operation) {
	if w.chance(0.3) || w.resources >= 8 {
		w.lock(o)
		return
	}
	w.resources++
	o.Resource = "R"
	o.F = []histories.F{histories.Write, histories.Write, histories.Write, histories.Read, histories.Read, histories.Read, histories.Open}[w.IntN(7)]
	w.name(o)
	happens := o.Type == histories.OK || w.chance(0.6)
	if w.fence != histories.FenceOff && w.tokens && w.mine[o.Process] < w.highest && !w.chance(w.mistakes) && o.Type == histories.OK &&
		(o.F == histories.Write || w.fence == histories.FenceAll) {
		o.Type, o.Error = histories.Fail, histories.ErrFenced
		happens = false
	}
	switch o.F {
	case histories.Write:
		w.written++
		v := fmt.Sprintf("v%d", w.written)
		if w.chance(0.05) { // values may repeat
			v = fmt.Sprintf("v%d", w.IntN(w.written))
		}
		o.Value = histories.Some(v)
		if happens {
			w.value = v
		}
	case histories.Read:
		if v := w.value; o.Type == histories.OK && !w.chance(0.05) {
			if w.chance(w.mistakes / 2) {
				v = fmt.Sprintf("v%d", w.IntN(w.written+1))
			}
			o.Value = histories.Some(v)
		}
	}
	if happens {
		w.highest = max(w.highest, w.mine[o.Process])
	}
	if o.Type == histories.OK && (w.numbers == 1 || w.numbers == 2 && w.chance(0.5)) {
		w.number(o)
	}
}

// number: stores that number states give reads the number of the write before.
func (w *world) number(o *histories.Operation) {
	if o.F == histories.Write || w.chance(0.3) {
		w.commits++
	}
	n := w.commits
	if w.chance(w.mistakes / 4) {
		n = w.Int64N(n + 1)
	}
	o.Seq = histories.Some(n)
}

// name: some operations name their grant, or the one under which they were decided.
func (w *world) name(o *histories.Operation) {
	n := w.grants[o.Process]
	if n == 0 {
		return
	}
	if w.chance(0.15) {
		o.Grant = fmt.Sprintf("%s.%d", o.Process, 1+w.IntN(n))
	}
	if o.F == histories.Write && w.chance(0.15) {
		o.Under = fmt.Sprintf("%s.%d", o.Process, 1+w.IntN(n))
	}
}

func (w *world) lock(o *histories.Operation) {
	o.Lock = "L"
	if w.grants[o.Process] > 0 && w.chance(0.3) {
		o.F = histories.Release
		return
	}
	o.F = histories.Acquire
	if o.Type != histories.OK {
		return
	}
	w.grants[o.Process]++
	if !w.tokens {
		return
	}
	switch {
	case w.chance(w.mistakes / 3):
		w.token = w.Int64N(4)
	case w.mine[o.Process] == w.token && w.grants[o.Process] > 1 && w.chance(0.4): // re-entry
	default:
		w.token++
	}
	w.mine[o.Process] = w.token
	o.Token = histories.Some(w.token)
}
