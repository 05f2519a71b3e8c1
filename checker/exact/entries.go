package exact

import (
	"cmp"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// party is a worker on a lock: its grants, and its releases in line order.
type party struct {
	who      holder
	own      []*hold
	releases []release
}

// entries fills a ledger from the operations of the workers. A history of a million
// operations has a good part of that in promises, so they are counted first and stand in
// one list, and what belongs to a grant is found by the place of its acquire.
type entries struct {
	*Ledger
	parties []*party
	byWho   map[holder]*party
	holds   []hold  // as the book has the grants
	place   []int32 // by operation: of an acquire, the place of its grant in holds
}

func newEntries(l *Ledger) *entries {
	e := &entries{Ledger: l, byWho: map[holder]*party{}, holds: make([]hold, len(l.book.Grants)), place: make([]int32, len(l.book.History.Ops))}
	for k, g := range l.book.Grants {
		e.place[g.Acquire] = int32(k)
	}
	count, all := make([]int, len(e.holds)), 0
	for i := range l.book.History.Ops {
		if o := &l.book.History.Ops[i]; promises(o) {
			if g := l.book.Own(i); g != nil {
				count[e.place[g.Acquire]]++
				all++
			}
		}
	}
	room, ranks := make([]promise, all), make([]int, all)
	for k, g := range l.book.Grants {
		h, n := &e.holds[k], count[k]
		h.Grant, h.promises, h.best = g, room[:0:n], ranks[:0:n]
		room, ranks = room[n:], ranks[n:]
		l.holds[g] = h
	}
	return e
}

// promises tells whether an operation promises the lock, if it belongs to a grant.
func promises(o *histories.Operation) bool {
	return o.Type == histories.OK && (o.F == histories.Acquire || o.F == histories.Renew)
}

func (e *entries) hold(g *model.Grant) *hold { return &e.holds[e.place[g.Acquire]] }

func (e *entries) byWorker(i int, o *histories.Operation) {
	if o.Type == histories.Fail || o.F != histories.Acquire && o.F != histories.Renew && o.F != histories.Release {
		return
	}
	g := e.book.Own(i)
	if g == nil {
		e.byDoubtful(i, o)
		return
	}
	h := e.hold(g)
	switch {
	case o.F == histories.Acquire:
		h.party = e.party(holder{g.Worker, g.Lock})
		h.index, h.shared, h.ttl = len(h.party.own), o.Mode != "", o.EffectiveTTL()
		h.promise(i, o)
		h.party.own = append(h.party.own, h)
	case o.F == histories.Release:
		h.party.releases = append(h.party.releases, release{
			span: spanOf(o), op: i, hold: h, ok: o.Type == histories.OK, keeps: o.HoldsLeft.Or(0) != 0,
		})
	case o.Type == histories.OK:
		h.promise(i, o)
	}
}

func (e *entries) party(who holder) *party {
	p := e.byWho[who]
	if p == nil {
		p = &party{who: who}
		e.byWho[who] = p
		e.parties = append(e.parties, p)
	}
	return p
}

// byDoubtful notes an acquire without an answer, and the release that ends whatever
// came of it.
func (e *entries) byDoubtful(i int, o *histories.Operation) {
	who := holder{o.Process, o.Lock}
	switch list := e.doubtful[who]; {
	case o.F == histories.Acquire:
		e.doubtful[who] = append(list, doubtful{op: i, invoke: o.Invoke, grant: o.Grant, closed: histories.Never})
	case o.F == histories.Release && o.Type == histories.OK && o.Grant != "":
		for k := range slices.Backward(list) {
			if list[k].grant == o.Grant {
				list[k].closed = min(list[k].closed, o.Return)
				return
			}
		}
	}
}

// byHold sorts releases by the grants that they name; those of one stay in line order.
func byHold(all []release) []release {
	order := func(a, b release) int { return cmp.Compare(a.hold.index, b.hold.index) }
	if slices.IsSortedFunc(all, order) {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, order)
	return all
}
