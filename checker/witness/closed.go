package witness

import (
	"maps"
	"math"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// maxClosed is how many operations a closed history has at most: it is judged by rules
// that look at every pair.
const maxClosed = 200

// Closed is a history of its own: a few operations that are at fault together, closed up
// with all that may excuse them. Without that anything could be made a fault, by leaving
// out the release that explains it. It is what the rules word for word are asked about
// (see [exact.Plain]).
//
// It is nil if that would be too much to look at pair by pair.
func Closed(l *exact.Ledger, core []int) *histories.History {
	ops, whole := closure(l, core)
	if !whole {
		return nil
	}
	return partOf(l.Book(), ops)
}

// closeUp is what [Closed] makes a history of. If that would be too much, it is the few
// operations and the acquires of their grants.
func closeUp(l *exact.Ledger, core []int) []int {
	ops, _ := closure(l, core)
	return ops
}

// closure adds to some operations what they need to be judged alone:
//
//   - the acquires of the grants that they belong to;
//   - the releases that may have ended one of those grants, and what the store or the
//     nemesis did to their workers, in the time from the first operation to the last;
//   - if the lock's tokens are of no use as the order of grants, why: among a few grants
//     they might look usable.
//
// An end line belongs to the oldest grant of its worker that may be open. So with a line
// comes its owner, and with an owner that is not of the core all that may have closed it.
// If that is too much, it is not whole: the acquires alone.
func closure(l *exact.Ledger, core []int) (ops []int, whole bool) {
	c := &closer{l: l, b: l.Book(), h: l.Book().History, in: map[int]bool{}, core: map[int]bool{}}
	for _, i := range core {
		c.add(i)
	}
	least := c.list()
	c.from, c.to = span(c.h, least)
	acquires := c.acquires()
	for _, i := range acquires {
		c.core[i] = true
	}
	c.gather(acquires)
	for _, lock := range c.locks(acquires) {
		for _, g := range exact.UselessTokens(c.b, lock) {
			c.add(g.Acquire)
		}
	}
	for done := map[int]bool{}; len(c.in) <= maxClosed; {
		before := len(done)
		for _, i := range c.acquires() {
			if !done[i] {
				done[i] = true
				c.visit(i)
			}
		}
		c.part()
		if len(done) == before {
			return c.list(), true
		}
	}
	return least, false
}

type closer struct {
	l        *exact.Ledger
	b        *model.Book
	h        *histories.History
	in       map[int]bool
	core     map[int]bool // acquires of the grants at fault
	near     []int        // what the workers at fault did to their grants, and others to them, until the end
	from, to int64        // of the core
}

// add also adds the acquires of the grants that an operation belongs to or names, and the
// owner of an end line.
func (c *closer) add(i int) {
	c.in[i] = true
	for _, g := range []*model.Grant{c.b.Own(i), c.b.Under(i)} {
		if g != nil {
			c.in[g.Acquire] = true
		}
	}
	if owner := c.l.Owner(i); owner >= 0 {
		c.in[owner] = true
	}
	if o := &c.h.Ops[i]; c.b.Own(i) == nil && o.Grant != "" {
		if named := c.naming(o.Process, o.Grant); named >= 0 {
			c.in[named] = true
		}
	}
}

// naming is the acquire that names a grant which it did not open; -1 if there is none.
func (c *closer) naming(process, grant string) int {
	return find(c.h, func(_ int, o *histories.Operation) bool {
		return o.F == histories.Acquire && o.Process == process && o.Grant == grant
	})
}

func (c *closer) list() []int { return slices.Sorted(maps.Keys(c.in)) }

// acquires are those that are in, but for refused ones.
func (c *closer) acquires() []int {
	return slices.DeleteFunc(c.list(), func(i int) bool {
		return c.h.Ops[i].F != histories.Acquire || c.h.Ops[i].Type == histories.Fail
	})
}

func (c *closer) locks(acquires []int) []string {
	var list []string
	for _, i := range acquires {
		if lock := c.h.Ops[i].Lock; !slices.Contains(list, lock) {
			list = append(list, lock)
		}
	}
	return list
}

// gather goes through the history once. What was asked for after the end of the core
// neither excuses it nor decides whose an end line in it is.
func (c *closer) gather(acquires []int) {
	type holder struct{ worker, lock string }
	holders, workers := map[holder]bool{}, map[string]bool{}
	for _, i := range acquires {
		o := &c.h.Ops[i]
		holders[holder{o.Process, o.Lock}], workers[o.Process] = true, true
	}
	for i := range c.h.Ops {
		o := &c.h.Ops[i]
		if o.Invoke > c.to {
			return
		}
		near := false
		switch {
		case o.Type == histories.Fail:
		case o.F == histories.Renew || o.F == histories.Release:
			who := holder{o.Process, o.Lock}
			if g := c.b.Own(i); g != nil { // named, whatever lock the operation names
				who.lock = g.Lock
			}
			near = holders[who]
		case o.F == histories.Expire || o.F == histories.Revoke:
			near = o.Process == histories.Store && holders[holder{o.Target, o.Lock}]
		case o.F == histories.Kill:
			near = o.Process == histories.Nemesis && workers[o.Target]
		}
		if near {
			c.near = append(c.near, i)
		}
	}
}

// visit adds what belongs to an acquire.
func (c *closer) visit(acquire int) {
	g := c.b.Own(acquire)
	first, last := c.lines(acquire)
	for _, i := range c.near {
		o := &c.h.Ops[i]
		owned := c.l.Owner(i) == acquire && o.Invoke <= c.to
		switch {
		case c.core[acquire] && g != nil:
			owned = o.Invoke <= c.to && (o.Type == histories.Info || o.Return >= c.from) && c.mayEnd(i, g) ||
				o.F == histories.Renew && o.Type == histories.OK && c.b.Own(i) == g && o.Return >= first && o.Invoke <= last
		case owned, o.Type != histories.OK:
		case g == nil:
			owned = o.F == histories.Release && c.b.Own(i) == nil && o.Grant != "" && o.Grant == c.h.Ops[acquire].Grant
		default:
			owned = o.F == histories.Renew && c.b.Own(i) == g || o.F == histories.Release && c.mayEnd(i, g)
		}
		if owned {
			c.add(i)
		}
	}
}

// part keeps apart what is apart: two grants of one worker count as one, unless another
// worker's grant lies between them. Then that one comes in, too.
func (c *closer) part() {
	var grants []*model.Grant
	for _, i := range c.acquires() {
		if g := c.b.Own(i); g != nil {
			grants = append(grants, g)
		}
	}
	for k, g := range grants {
		for _, a := range grants[:k] {
			if a.Worker != g.Worker || a.Lock != g.Lock || model.Nested(a, g) || slices.ContainsFunc(grants, func(o *model.Grant) bool {
				return o.Worker != g.Worker && model.Older(a, o) && model.Older(o, g)
			}) {
				continue
			}
			o := c.b.Between(a, g)
			c.add(o.Acquire)
			grants = append(grants, o)
		}
	}
}

// lines is the time from the first end line of an acquire to the last: a renewal in it
// may be why the second one is its own, too. It is empty if there is only one.
func (c *closer) lines(acquire int) (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	n := 0
	for _, i := range c.near {
		if o := &c.h.Ops[i]; c.l.Owner(i) == acquire && o.Invoke <= c.to {
			n, from, to = n+1, min(from, o.Invoke), max(to, o.Return)
		}
	}
	if n < 2 {
		return math.MaxInt64, math.MinInt64
	}
	return from, to
}

// mayEnd tells whether an operation ends a grant, or may.
func (c *closer) mayEnd(i int, g *model.Grant) bool {
	o := &c.h.Ops[i]
	switch {
	case o.Process == histories.Nemesis:
		return o.F == histories.Kill && o.Target == g.Worker
	case o.Process == histories.Store:
		return (o.F == histories.Expire || o.F == histories.Revoke) && o.Target == g.Worker && o.Lock == g.Lock
	case o.F != histories.Release:
		return false
	}
	named := c.b.Own(i)
	if named == nil || named.Worker != g.Worker || named.Lock != g.Lock {
		return false
	}
	older, newer := named, g
	if older.Acquire > newer.Acquire {
		older, newer = newer, older
	}
	return named == g || o.Type == histories.OK && o.HoldsLeft.Or(0) == 0 && i > g.Acquire && model.Nested(older, newer)
}
