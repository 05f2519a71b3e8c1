package model

import (
	"cmp"
	"slices"
)

// LockOrder is the grants of one lock in their order: by token if tokens are
// usable (every grant has one, and they agree with real time), else by the
// acquire's invocation, which then says nothing about grants that overlap.
type LockOrder struct {
	Lock    string
	Grants  []*Grant
	ByToken bool
}

// Orders lists the grants of every lock, by the lock's name.
func (b *Book) Orders() []LockOrder {
	list := make([]LockOrder, 0, len(b.orders))
	for lock, o := range b.orders {
		list = append(list, LockOrder{Lock: lock, Grants: o.grants, ByToken: o.tokens})
	}
	slices.SortFunc(list, func(a, o LockOrder) int { return cmp.Compare(a.Lock, o.Lock) })
	return list
}

// Nested tells whether a and g, in this order two grants of one worker on one lock,
// have no grant of another worker certainly between them: they count as one
// (re-entry). Along a worker's grants it holds up to some grant, and not after it.
func Nested(a, g *Grant) bool {
	if a.place.order.tokens {
		return g.place.pos < a.place.newer
	}
	return a.place.between >= g.Invoke
}
