package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// leaves is when a worker stopped to be a live holder under a grant, until when it may
// have gone on, and by what: the first thing in line order; or death, if that came first.
func (r *plainWatch) leaves(g *model.Grant) (said, until int64, by int) {
	said, until, by = histories.Never, histories.Never, r.leftBy(g)
	if by >= 0 {
		o := &r.h.Ops[by]
		said, until = o.Return, o.Return
		if o.F == histories.Release {
			said, until = o.Invoke, max(r.unheard(by), r.surplus(by))
		}
	}
	death := r.troubles.death(g.Worker, g.Return)
	if death.at <= said {
		said, by = death.at, death.op
	}
	return said, min(until, death.at), by
}

// leftBy is the first operation of the worker by which it gave the grant up, or was told
// that it is lost; -1 if there is none. It concerns also what is older than the grant
// that it names, and what is nested with that.
func (r *plainWatch) leftBy(g *model.Grant) int {
	for i := g.Acquire + 1; i < len(r.h.Ops); i++ {
		if named := r.b.Own(i); named != nil && named.Worker == g.Worker && named.Lock == g.Lock && r.parts(i) &&
			(g.Acquire <= named.Acquire || r.nested(g, named)) {
			return i
		}
	}
	return -1
}

func (r *plainWatch) parts(i int) bool {
	o := &r.h.Ops[i]
	held, said := o.Held.Get()
	return o.F == histories.Release || o.Type == histories.OK && (o.F == histories.Lost || o.F == histories.Check && said && !held)
}

// unheard is until when a release may not have left a worker that was in trouble.
func (r *plainWatch) unheard(i int) int64 {
	o := &r.h.Ops[i]
	trouble, troubled := r.troubles.firstTrouble(o.Process, o.Invoke, o.Return)
	switch {
	case !troubled:
		return o.Invoke
	case o.Type == histories.OK:
		return o.Return
	case o.Return == histories.Never:
		return max(o.Invoke, trouble.to)
	}
	return max(o.Return, trouble.to)
}

// surplus is until when a worker showed that it still held some of what a release left.
func (r *plainWatch) surplus(release int) int64 {
	if !r.keeps(release) {
		return r.h.Ops[release].Invoke
	}
	among := map[*model.Grant]bool{}
	for _, g := range r.b.Grants {
		if g.Acquire < release && r.leftBy(g) == release {
			among[g] = true
		}
	}
	used, due := r.h.Ops[release].Invoke, len(among)-1
	for i := release + 1; i < len(r.h.Ops) && due > 0; i++ {
		o := &r.h.Ops[i]
		switch {
		case !among[r.b.Own(i)]:
		case o.F == histories.Release:
			used, due = o.Invoke, due-1
			if !r.keeps(i) {
				return used
			}
		case r.parts(i):
			return used
		case o.Type == histories.OK && (o.F == histories.Check || o.F.OnResource()):
			used = o.Invoke
		}
	}
	return used
}

// keeps: the release was answered ok, and says that holds are left.
func (r *plainWatch) keeps(i int) bool {
	o := &r.h.Ops[i]
	return o.F == histories.Release && o.Type == histories.OK && o.HoldsLeft.Or(0) > 0
}
