// Package floor watches a history while it grows, and reports accepted operations of
// an older grant that certainly came after one of a newer grant: the stale writes
// that stale-write will be found invalid for. It needs no search and little memory,
// so that a running campaign can say within moments what the judgement will be.
//
// What it reports is a violation; what it does not report may be one. It forgets
// ([memory]), it takes only pairs that plainly have an order, and it leaves out
// operations that do not name their grant.
package floor

import (
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// ownGrants of a worker are remembered: an operation seldom belongs to one before.
const ownGrants = 64

// Watch is one history. It is not safe for several goroutines.
type Watch struct {
	fence  histories.Fence
	grants map[string][]grant // by worker, the last ones
	locks  map[string]*lock
	places map[place]*fronts
}

// place: a resource may be guarded by several locks, each with an order of its own.
type place struct{ lock, resource string }

// Stale is a pair of accepted operations that no order explains.
type Stale struct {
	Late  histories.Operation // of the older grant
	Newer histories.Operation // of a newer grant of another worker; it came before
}

// New watches a history of a resource with this kind of fence.
func New(fence histories.Fence) *Watch {
	return &Watch{fence: fence, grants: map[string][]grant{}, locks: map[string]*lock{}, places: map[place]*fronts{}}
}

// grant is one hold. Grants are compared by two numbers: a is older than g if a's
// low is less than g's high. With tokens both are the token; without, it is real
// time: answered before the other was asked for.
type grant struct {
	id, lock  string
	low, high int64
}

// lock knows whether its tokens can be used as an order.
type lock struct {
	unordered bool
	owners    map[int64]string
	largest   map[string]int64 // by worker
	answered  front            // tokens by the time of their answer
}

// Add takes a completed operation. Those of one process must come in its own order;
// otherwise they may come in any, as they do when files are read side by side. The
// result is nil unless the operation completes a pair that is stale.
func (w *Watch) Add(o histories.Operation) *Stale {
	switch {
	case o.Type != histories.OK || !o.ByWorker():
		return nil
	case o.F == histories.Acquire:
		w.granted(&o)
		return nil
	case o.F == histories.Write, w.fence == histories.FenceAll && (o.F == histories.Read || o.F == histories.Open):
		return w.accepted(&o)
	}
	return nil
}

func (w *Watch) granted(o *histories.Operation) {
	l := w.locks[o.Lock]
	if l == nil {
		l = &lock{owners: map[int64]string{}, largest: map[string]int64{}}
		w.locks[o.Lock] = l
	}
	g := grant{id: o.Grant, lock: o.Lock, low: o.Return, high: o.Invoke}
	if !l.unordered && !l.take(o) {
		l.unordered = true
		w.forget(o.Lock)
	}
	if token, known := o.Token.Get(); known && !l.unordered {
		g.low, g.high = token, token
	}
	own := append(w.grants[o.Process], g)
	w.grants[o.Process] = own[max(0, len(own)-ownGrants):]
}

// take tells whether the tokens still agree with real time.
func (l *lock) take(o *histories.Operation) bool {
	token, known := o.Token.Get()
	if !known {
		return false
	}
	if owner, taken := l.owners[token]; taken && owner != o.Process {
		return false
	}
	if last, before := l.largest[o.Process]; before && token < last {
		return false
	}
	if l.answered.find(o.Invoke, token, o.Process) != nil {
		return false
	}
	l.owners[token], l.largest[o.Process] = o.Process, token
	l.answered.add(entry{key: o.Return, rank: token, op: histories.Operation{Process: o.Process}})
	if len(l.owners) > memory {
		clear(l.owners) // a token that comes back after so many is another property's matter
	}
	return true
}

// forget drops what was compared by tokens that turned out to be no order. Grants
// known until now are no longer comparable, either.
func (w *Watch) forget(lock string) {
	for who, own := range w.grants {
		w.grants[who] = slices.DeleteFunc(own, func(g grant) bool { return g.lock == lock })
	}
	for p := range w.places {
		if p.lock == lock {
			delete(w.places, p)
		}
	}
}

func (w *Watch) accepted(o *histories.Operation) *Stale {
	own := w.grants[o.Process]
	k := slices.IndexFunc(own, func(g grant) bool { return g.id == o.Grant })
	if k < 0 || o.Grant == "" {
		return nil
	}
	g := own[k]
	at := place{g.lock, o.Resource}
	if w.places[at] == nil {
		w.places[at] = &fronts{}
	}
	return w.places[at].take(o, &g)
}
