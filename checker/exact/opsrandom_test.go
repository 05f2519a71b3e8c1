package exact_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// shop makes small random histories of resources behind locks: workers on a coarse
// clock (so that times touch), each operation taking effect at one moment of its
// interval or later, on a lock that hands itself on when it likes and on resources
// whose fences make a mistake now and then.
type shop struct {
	*rand.Rand
	fence    histories.Fence
	tokens   tokenKind
	numbers  numberKind
	locks    int
	guarded  bool // the header says which lock guards a resource; else every operation names it
	mistakes float64
	unknown  float64

	shelves map[string]*shelf
	written int
	token   map[string]int64  // by lock: the largest so far
	mine    map[string]int64  // by worker and lock: the newest token
	holder  map[string]string // by lock
	grants  map[string]int    // by worker
}

// numberKind says which operations the resource numbers.
type numberKind int

const (
	noNumbers numberKind = iota
	allNumbers
	someNumbers
	writeNumbers
)

// shelf is a resource: what it stores, its fence, and how far it has counted.
type shelf struct {
	value   string
	highest map[string]int64 // by lock
	commits int64
}

// randomOperations makes a history of at most so many operations on resources.
func randomOperations(r *rand.Rand, most int) *histories.History {
	w := &shop{
		Rand:     r,
		fence:    []histories.Fence{histories.FenceOff, histories.FenceWrites, histories.FenceAll}[r.IntN(3)],
		tokens:   []tokenKind{noTokens, growing, growing, growing, resetting, sticky}[r.IntN(6)],
		numbers:  []numberKind{noNumbers, noNumbers, allNumbers, someNumbers, writeNumbers}[r.IntN(5)],
		locks:    1 + r.IntN(6)/5,
		guarded:  r.IntN(3) > 0,
		mistakes: []float64{0, 0, 0.1, 0.4}[r.IntN(4)],
		unknown:  []float64{0, 0.1, 0.35}[r.IntN(3)],
		shelves:  map[string]*shelf{}, token: map[string]int64{}, mine: map[string]int64{}, holder: map[string]string{}, grants: map[string]int{},
	}
	resources := 1 + r.IntN(6)/5
	h := &histories.History{Header: histories.Header{Fence: w.fence, Tokens: histories.TokensOrdered, Initial: map[string]string{}}}
	if w.tokens == noTokens {
		h.Header.Tokens = histories.TokensNone
	}
	for k := range resources {
		name := fmt.Sprint("R", k)
		w.shelves[name] = &shelf{highest: map[string]int64{}}
		if r.IntN(3) > 0 {
			w.shelves[name].value = "v0"
			h.Header.Initial[name] = "v0"
		}
		if w.guarded {
			h.Header.Guards = append(h.Header.Guards, histories.Guard{Lock: fmt.Sprint("L", k%w.locks), Resource: name})
		}
	}
	plan := w.plan(most, resources)
	order := slices.Clone(plan)
	slices.SortStableFunc(order, func(a, b *planned) int { return cmp.Compare(a.at, b.at) })
	for _, p := range order {
		w.happen(&p.op)
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

// plan gives every worker a line of operations: a grant to begin with, mostly, and
// then this and that.
func (w *shop) plan(most, resources int) []*planned {
	workers, long := 1+w.IntN(4), w.Int64N(7)
	clock := make([]int64, workers)
	var plan []*planned
	for left := 2 + w.IntN(most-1); left > 0; {
		who := w.IntN(workers)
		p := &planned{op: histories.Operation{Process: string(rune('A' + who)), Type: histories.OK}}
		p.op.Invoke = clock[who] + w.Int64N(3)
		p.op.Return = p.op.Invoke + w.Int64N(long+1)
		if w.IntN(12) == 0 { // one that takes long
			p.op.Return += w.Int64N(20)
		}
		clock[who] = p.op.Return
		p.at = float64(p.op.Invoke) + w.Float64()*float64(p.op.Return-p.op.Invoke) + w.Float64()/100
		p.op.Invoke, p.op.Return = p.op.Invoke*ms, p.op.Return*ms
		if w.chance(w.unknown) {
			p.op.Type = histories.Info
			if w.chance(0.5) { // it lands when its worker has gone on
				p.at += 12 * w.Float64()
			}
		}
		if !w.chance(0.3) {
			p.op.Resource = fmt.Sprint("R", w.IntN(resources))
			left--
		}
		plan = append(plan, p)
	}
	return plan
}

func (w *shop) chance(p float64) bool { return w.Float64() < p }

func (w *shop) happen(o *histories.Operation) {
	if o.Resource == "" {
		w.onLock(o)
		return
	}
	lock := fmt.Sprint("L", int(o.Resource[1]-'0')%w.locks)
	if !w.guarded || w.chance(0.1) { // operations on one resource may name several locks
		lock = fmt.Sprint("L", w.IntN(w.locks))
		o.Lock = lock
	}
	o.F = []histories.F{histories.Write, histories.Write, histories.Write, histories.Read, histories.Read, histories.Read, histories.Open}[w.IntN(7)]
	w.name(o)
	s, token := w.shelves[o.Resource], w.mine[o.Process+lock]
	happens := o.Type == histories.OK || w.chance(0.6)
	looks := w.fence == histories.FenceAll || w.fence == histories.FenceWrites && o.F == histories.Write
	if looks && w.tokens != noTokens && token < s.highest[lock] && !w.chance(w.mistakes) {
		happens = false
		if o.Type == histories.OK {
			o.Type, o.Error = histories.Fail, histories.ErrFenced
		}
	}
	if happens && looks {
		s.highest[lock] = max(s.highest[lock], token)
	}
	w.values(o, s, happens)
	if o.Type == histories.OK {
		w.number(o, s)
	}
}

func (w *shop) values(o *histories.Operation, s *shelf, happens bool) {
	switch {
	case o.F == histories.Write:
		w.written++
		v := fmt.Sprint("v", w.written)
		if w.chance(0.02) { // values may repeat
			v = fmt.Sprint("v", w.IntN(w.written))
		}
		o.Value = histories.Some(v)
		if happens {
			s.value = v
		}
	case o.F == histories.Read && o.Type == histories.OK && !w.chance(0.05):
		v := s.value
		if w.chance(w.mistakes / 2) {
			v = fmt.Sprint("v", w.IntN(w.written+1))
		}
		o.Value = histories.Some(v)
	}
}

// number: resources that number states give reads the number of the write before.
func (w *shop) number(o *histories.Operation, s *shelf) {
	if w.numbers == noNumbers || w.numbers == someNumbers && w.chance(0.5) || w.numbers == writeNumbers && o.F != histories.Write {
		return
	}
	if o.F == histories.Write || w.chance(0.3) {
		s.commits++
	}
	n := s.commits
	if w.chance(w.mistakes / 4) {
		n = w.Int64N(n + 1)
	}
	o.Seq = histories.Some(n)
}

// name: some operations name their grant, or the one under which they were decided.
func (w *shop) name(o *histories.Operation) {
	n := w.grants[o.Process]
	if n == 0 {
		return
	}
	if w.chance(0.1) {
		o.Grant = fmt.Sprintf("%s.%d", o.Process, 1+w.IntN(n))
	}
	if o.F == histories.Write && w.chance(0.15) {
		o.Under = fmt.Sprintf("%s.%d", o.Process, 1+w.IntN(n))
	}
}

func (w *shop) onLock(o *histories.Operation) {
	o.Lock = fmt.Sprint("L", w.IntN(w.locks))
	key := o.Process + o.Lock
	if w.mine[key] > 0 && w.chance(0.3) {
		o.F = histories.Release
		return
	}
	o.F = histories.Acquire
	if o.Type != histories.OK {
		return
	}
	again := w.holder[o.Lock] == o.Process
	w.grants[o.Process]++
	w.holder[o.Lock] = o.Process
	switch {
	case w.tokens == sticky:
		w.token[o.Lock] = int64(o.Process[0])
	case w.tokens == resetting && w.chance(0.3):
		w.token[o.Lock] = w.Int64N(4)
	case again && w.chance(0.4): // re-entry, or a release that did not happen
	default:
		w.token[o.Lock]++
	}
	w.mine[key] = w.token[o.Lock]
	if w.tokens != noTokens {
		o.Token = histories.Some(w.mine[key])
	}
}
