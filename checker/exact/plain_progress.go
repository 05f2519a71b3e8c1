package exact

import (
	"math"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// Progress is rule 11, moment by moment (see [Progress] for what it says): between two
// times that are named or follow from what is named, nothing changes.
func (p *Plain) Progress() PlainAnswer {
	answer := PlainAnswer{}
	for _, lock := range p.allLocks() {
		r := &plainWatch{Plain: p, lock: lock, troubles: findTroubles(p.b), end: EndOf(p.h)}
		r.read()
		answer.Invalid = answer.Invalid || r.stalls(r.maybeTaken)
		answer.Uncertain = answer.Uncertain || r.stalls(r.taken)
	}
	return answer
}

func (p *Plain) allLocks() []string {
	var list []string
	for i := range p.h.Ops {
		if lock := LockOf(p.b, i); p.h.Ops[i].ByWorker() && !slices.Contains(list, lock) {
			list = append(list, lock)
		}
	}
	return list
}

// plainWatch watches one lock. Spans go from the one time to before the other.
type plainWatch struct {
	*Plain
	lock     string
	troubles *troubles
	end      int64
	said     []span // somebody was a live holder
	maybe    []span // somebody may have been
}

func (r *plainWatch) here(i int) bool { return r.h.Ops[i].ByWorker() && LockOf(r.b, i) == r.lock }

func (r *plainWatch) read() {
	for _, g := range r.b.Grants {
		if g.Lock == r.lock {
			r.readGrant(g)
		}
	}
	for i := range r.h.Ops {
		if r.here(i) && r.h.Ops[i].F == histories.Acquire {
			r.maybe = append(r.maybe, r.maybeGranted(i))
		}
	}
}

func (r *plainWatch) taken(t int64) bool {
	return slices.ContainsFunc(r.said, func(s span) bool { return s.from <= t && t < s.to })
}

func (r *plainWatch) maybeTaken(t int64) bool {
	return r.taken(t) || slices.ContainsFunc(r.maybe, func(s span) bool { return s.from <= t && t < s.to })
}

// stalls: is there a time without a holder in which somebody waits for too long?
func (r *plainWatch) stalls(taken func(t int64) bool) bool {
	times := r.times()
	free, from := false, int64(0)
	for k, t := range times {
		if t >= r.end {
			break
		}
		busy := taken(t) || r.storeBroken(t)
		if free && (busy || r.cut(t)) {
			if r.stalled(from, t) {
				return true
			}
			free = false
		}
		if !busy && !free {
			free, from = true, times[k]
		}
	}
	return free && r.stalled(from, r.end)
}

// cut: somebody is granted the lock now, or something begins to break the store.
func (r *plainWatch) cut(t int64) bool {
	for _, g := range r.b.Grants {
		if g.Lock == r.lock && g.Return == t {
			return true
		}
	}
	return slices.ContainsFunc(r.troubles.store, func(s span) bool { return s.from == t })
}

func (r *plainWatch) storeBroken(t int64) bool {
	return slices.ContainsFunc(r.troubles.store, func(s span) bool { return s.from <= t && t < s.to })
}

// times are all moments at which something may change.
func (r *plainWatch) times() []int64 {
	list := []int64{math.MinInt64, r.end}
	add := func(t int64) {
		if t != histories.Never {
			list = append(list, t)
		}
	}
	for i := range r.h.Ops {
		add(r.h.Ops[i].Invoke)
		add(r.h.Ops[i].Return)
	}
	for _, s := range slices.Concat(r.said, r.maybe) {
		add(s.from)
		add(s.to)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
