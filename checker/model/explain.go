package model

import (
	"math"
	"slices"
	"sort"
)

// Explainers knows, for every read of a value, the writes that it may have seen: those
// of its value, but for the ones that it preceded and the ones that were certainly
// overwritten before it.
//
// Whoever leaves out operations has to keep these with the read. Then a legal order
// of all stays legal: the last write before the read is among them in every legal
// order, and still the last one when others are gone.
type Explainers struct {
	r     *Resource
	count []int32 // by value: its writes
	sole  []int32 // by value: its last write

	// The writes by value; nil until a value with several is asked about.
	plain    *shelf     // acknowledged, without a number; they reach to their answer
	numbered *shelf     // with a number, which is what they reach to
	open     *shelf     // not acknowledged
	last     [][3]int32 // by operation: see overwriters
}

// Explainers readies the question for all reads.
func (r *Resource) Explainers() *Explainers {
	e := &Explainers{r: r, count: make([]int32, len(r.values)), sole: make([]int32, len(r.values))}
	for i := range r.ops {
		if o := &r.ops[i]; o.Write && o.Value >= 0 {
			e.count[o.Value]++
			e.sole[o.Value] = int32(i)
		}
	}
	return e
}

// Of lists the writes that an operation may have seen, ascending; both are indices
// into [Resource.Operations]. There are none for what is no read of a value. The only
// write of a value is always one, so that it is seen if it came too late.
func (e *Explainers) Of(i int32) []int32 {
	o := &e.r.ops[i]
	if !o.Read || o.Value < 0 || e.count[o.Value] == 0 {
		return nil
	}
	if e.count[o.Value] == 1 {
		return []int32{e.sole[o.Value]}
	}
	e.ready()
	var some []int32
	for _, writes := range [][]int32{e.plainFor(i), e.numberedFor(i), e.open.until(o.Value, e.invokedBy(o.Answer))} {
		for _, w := range writes {
			if e.mayExplain(w, i) {
				some = append(some, w)
			}
		}
	}
	slices.Sort(some)
	return some
}

// plainFor narrows the writes without a number down by time.
func (e *Explainers) plainFor(read int32) []int32 {
	o, bound := &e.r.ops[read], int64(math.MinInt64)
	for _, k := range e.last[read] {
		if k >= 0 && Precedes(&e.r.ops[k], o) {
			bound = max(bound, e.r.ops[k].Invoke)
		}
	}
	return e.plain.between(o.Value, bound, e.invokedBy(o.Answer))
}

// numberedFor narrows the writes with a number down by number, and for a read without
// one also by time.
func (e *Explainers) numberedFor(read int32) []int32 {
	o, bound := &e.r.ops[read], int64(math.MinInt64)
	if k := e.last[read][1]; k >= 0 && Precedes(&e.r.ops[k], o) {
		bound = e.r.ops[k].Seq
	}
	if o.Numbered {
		return e.numbered.between(o.Value, bound, e.numbered.startingBy(o.Value, o.Seq))
	}
	return e.numbered.between(o.Value, bound, e.invokedBy(o.Answer))
}

// invokedBy is the number of operations that were invoked by some time.
func (e *Explainers) invokedBy(time int64) int32 {
	return int32(sort.Search(len(e.r.ops), func(k int) bool { return e.r.ops[k].Invoke > time }))
}

// At is Of for places in History.Ops.
func (e *Explainers) At(place int) []int {
	i := sort.SearchInts(e.r.Ops, place)
	if i == len(e.r.Ops) || e.r.Ops[i] != place {
		return nil
	}
	return e.r.Places(e.Of(int32(i)))
}

func (e *Explainers) mayExplain(w, read int32) bool {
	write, r := &e.r.ops[w], &e.r.ops[read]
	if Precedes(r, write) {
		return false
	}
	for _, k := range e.last[read] {
		if k < 0 || k == w {
			continue
		}
		if between := &e.r.ops[k]; Precedes(write, between) && Precedes(between, r) {
			return false
		}
	}
	return true
}
