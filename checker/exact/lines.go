package exact

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/histories"
)

// endLine is an end of a lease that the store was seen to make: an expiry or a
// revocation. It names a worker and a lock, and no grant.
type endLine struct {
	span
	op int // place in History.Ops
}

// doubtful is an acquire without an answer. It may have opened a grant that nobody
// knows of, and an end line may be about that one: the next acquire of the worker often
// waits for nothing else than the lease which the one before left behind.
type doubtful struct {
	op     int // place in History.Ops
	invoke int64
	grant  string // as it names it; "" if it does not
	closed int64  // answer of an ok release that names it
}

// assignLines gives each end line to the oldest grant of its worker that may still be
// open then: asked for by then, no ok release answered before, no earlier end line of
// its own unless it was renewed since. A line that goes to a doubtful acquire is held
// against nobody.
func (l *Ledger) assignLines(who holder, own []*hold) {
	lines := l.lines[who]
	if len(lines) == 0 {
		return
	}
	slices.SortStableFunc(lines, func(a, b endLine) int {
		return cmp.Or(cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	earliest := make([]int64, len(lines)) // beginning, of a line and all after it
	for k := len(lines) - 1; k >= 0; k-- {
		earliest[k] = lines[k].from
		if k+1 < len(lines) {
			earliest[k] = min(earliest[k], earliest[k+1])
		}
	}
	a := newAssigner(own, l.doubtful[who], func(op int) int64 { return l.book.History.Ops[op].Return })
	for k, line := range lines {
		a.advance(line.to)
		if t := a.assign(line, earliest[k]); t != nil {
			l.owners[line.op] = t.op
		}
	}
}

// tenant is a grant to which end lines may belong, or a doubtful acquire.
type tenant struct {
	hold   *hold // nil: doubtful
	op     int   // the acquire
	invoke int64
	closed int64 // answer of the first ok release that ends it
	busy   int64 // latest answer of its renewals begun so far
	waits  bool  // is in the heap
}

// assigner goes through the tenants of one worker on one lock, in time.
type assigner struct {
	tenants  []tenant
	renewals []renewal // by invocation
	open     places    // heap of those that may be open, the oldest first; closed ones leave it late
	asked    int       // tenants that have been asked for so far
	renewed  int       // renewals begun so far
}

type renewal struct {
	tenant         int
	invoke, answer int64
}

func newAssigner(own []*hold, unsure []doubtful, answer func(op int) int64) *assigner {
	a := &assigner{}
	for _, h := range own {
		t := tenant{hold: h, op: h.Acquire, invoke: h.Invoke, closed: histories.Never, busy: math.MinInt64}
		if gone := h.promises[0].gone; gone >= 0 {
			t.closed = answer(gone)
		}
		a.tenants = append(a.tenants, t)
	}
	for _, d := range unsure {
		a.tenants = append(a.tenants, tenant{op: d.op, invoke: d.invoke, closed: d.closed, busy: math.MinInt64})
	}
	slices.SortFunc(a.tenants, func(x, y tenant) int { return cmp.Compare(x.op, y.op) })
	for i, t := range a.tenants {
		if t.hold == nil {
			continue
		}
		for _, p := range t.hold.promises[1:] {
			a.renewals = append(a.renewals, renewal{i, p.invoke, p.answer})
		}
	}
	slices.SortStableFunc(a.renewals, func(x, y renewal) int { return cmp.Compare(x.invoke, y.invoke) })
	return a
}

// advance lets acquires and renewals begin that were invoked by t.
func (a *assigner) advance(t int64) {
	for ; a.asked < len(a.tenants) && a.tenants[a.asked].invoke <= t; a.asked++ {
		a.enter(a.asked)
	}
	for ; a.renewed < len(a.renewals) && a.renewals[a.renewed].invoke <= t; a.renewed++ {
		r := &a.renewals[a.renewed]
		a.tenants[r.tenant].busy = max(a.tenants[r.tenant].busy, r.answer)
		a.enter(r.tenant)
	}
}

func (a *assigner) enter(i int) {
	if !a.tenants[i].waits {
		a.tenants[i].waits = true
		heap.Push(&a.open, i)
	}
}

// assign finds the owner of a line, nil if there is none. It expects all that began by the
// line's end to have entered. earliest is the
// beginning of this line and all later ones: what was closed before that is of no more
// use.
func (a *assigner) assign(line endLine, earliest int64) (owner *tenant) {
	var later []int // closed before this line, and not before a later one that began earlier
	for len(a.open) > 0 {
		i := a.open[0]
		t := &a.tenants[i]
		if t.closed >= line.from {
			if owner = t; t.hold != nil {
				t.hold.lines = append(t.hold.lines, line)
			}
			if t.busy < line.from {
				heap.Pop(&a.open)
				t.waits = false
			}
			break
		}
		heap.Pop(&a.open)
		if t.waits = t.closed >= earliest; t.waits {
			later = append(later, i)
		}
	}
	for _, i := range later {
		heap.Push(&a.open, i)
	}
	return owner
}

// places is a heap of places in a list.
type places []int

func (p places) Len() int           { return len(p) }
func (p places) Less(i, j int) bool { return p[i] < p[j] }
func (p places) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

// Push and Pop are for container/heap.
func (p *places) Push(x any) { *p = append(*p, x.(int)) }

// Pop removes the last place.
func (p *places) Pop() any {
	old := *p
	x := old[len(old)-1]
	*p = old[:len(old)-1]
	return x
}

// lineWithin finds an end line of the grant's own that lies in [from, before): one that
// began at or after the one and was over before the other. Equal times are concurrent,
// and prove nothing.
func (h *hold) lineWithin(from, before int64) (endLine, bool) {
	over := sort.Search(len(h.lines), func(k int) bool { return h.lines[k].to >= before })
	for k := over - 1; k >= 0 && h.lines[k].to >= from; k-- {
		if h.lines[k].from >= from {
			return h.lines[k], true
		}
	}
	return endLine{}, false
}
