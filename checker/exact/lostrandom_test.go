package exact_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// randomUpdates makes a small history of one resource on which every worker has a
// grant, and so a base for nearly every write: reads and writes that overlap, and
// writes that are never answered, land late and are read. The resource itself makes
// few mistakes; that updates are lost is up to the workers.
func randomUpdates(r *rand.Rand, most int) *histories.History {
	w := &updates{
		Rand:    r,
		blind:   []float64{0, 0.1, 0.4}[r.IntN(3)],
		unknown: []float64{0, 0.15, 0.3, 0.5}[r.IntN(4)],
		late:    4 + 20*r.Float64(),
		numbers: []float64{0, 0, 0, 0.3, 1}[r.IntN(5)],
		silent:  []float64{0, 0, 0.1}[r.IntN(3)],
	}
	h := &histories.History{Header: histories.Header{
		Fence: histories.FenceOff, Tokens: histories.TokensNone, Initial: map[string]string{"R": "v0"},
		Guards: []histories.Guard{{Lock: "L", Resource: "R"}},
	}}
	plan := w.plan(1+r.IntN(4), most)
	order := slices.Clone(plan)
	slices.SortStableFunc(order, func(a, b *planned) int { return cmp.Compare(a.at, b.at) })
	value, commits := "v0", int64(0)
	for _, p := range order {
		value = w.happen(&p.op, value, &commits)
	}
	for _, p := range plan {
		h.Ops = append(h.Ops, p.op)
	}
	sortOps(h)
	for i := range h.Ops {
		h.Ops[i].ID = int64(i)
	}
	return h
}

type updates struct {
	*rand.Rand
	blind   float64 // share of writes without a base
	unknown float64 // share of writes that are never answered
	late    float64 // ms by which such a write may land late
	numbers float64 // share of operations that are numbered
	silent  float64 // share of reads that return no value
	written int
	grants  map[string]int
}

func (w *updates) chance(p float64) bool { return w.Float64() < p }

// plan lets every worker take the lock and then read and write, a read before most
// writes. Some take it again on the way, which outdates no base.
func (w *updates) plan(workers, most int) []*planned {
	w.grants = map[string]int{}
	clock, reads := make([]int64, workers), make([]bool, workers)
	var plan []*planned
	add := func(who int, f histories.F, took int64) *planned {
		p := &planned{op: histories.Operation{Process: string(rune('A' + who)), F: f, Type: histories.OK, Lock: "L"}}
		p.op.Invoke = clock[who] + w.Int64N(3)
		p.op.Return = p.op.Invoke + took
		clock[who] = p.op.Return
		p.at = float64(p.op.Invoke) + w.Float64()*float64(took) + w.Float64()/100
		p.op.Invoke, p.op.Return = p.op.Invoke*ms, p.op.Return*ms
		if f == histories.Acquire {
			w.grants[p.op.Process]++
		} else {
			p.op.Resource, p.op.Lock = "R", ""
		}
		plan = append(plan, p)
		return p
	}
	long := 1 + w.Int64N(10)
	for who := range workers {
		add(who, histories.Acquire, 0)
	}
	for range 3 + w.IntN(most-2) {
		who := w.IntN(workers)
		switch {
		case w.chance(0.04):
			add(who, histories.Acquire, 0)
		case w.chance(0.06):
			add(who, histories.Open, w.Int64N(long))
		case reads[who] || w.chance(w.blind):
			w.dress(add(who, histories.Write, w.Int64N(long)))
			reads[who] = w.chance(0.2) // another write on the same base
		default:
			add(who, histories.Read, w.Int64N(long))
			reads[who] = w.chance(0.8)
		}
	}
	return plan
}

// dress: a write may remain without an answer, and land late; or name an earlier
// grant under which it was decided.
func (w *updates) dress(p *planned) {
	if w.chance(w.unknown) {
		p.op.Type = histories.Info
		if w.chance(0.6) {
			p.at += w.late * w.Float64()
		}
	}
	if n := w.grants[p.op.Process]; n > 1 && w.chance(0.2) {
		p.op.Under = fmt.Sprintf("%s.%d", p.op.Process, 1+w.IntN(n))
	}
}

func (w *updates) happen(o *histories.Operation, value string, commits *int64) string {
	switch {
	case o.F == histories.Acquire:
		return value
	case o.F == histories.Write:
		w.written++
		o.Value = histories.Some(fmt.Sprint("v", w.written))
		if o.Type == histories.OK || w.chance(0.8) {
			value = o.Value.Or("")
		}
		*commits++
	case o.F == histories.Read && !w.chance(w.silent):
		o.Value = histories.Some(value)
		if w.written > 0 && w.chance(0.02) {
			o.Value = histories.Some(fmt.Sprint("v", w.IntN(w.written+1)))
		}
	}
	if o.Type == histories.OK && w.chance(w.numbers) {
		o.Seq = histories.Some(*commits)
	}
	return value
}
