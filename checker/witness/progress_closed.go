package witness

import (
	"slices"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// MaxWatched is how many operations a closed history of a lock has at most: it is judged
// by a rule that looks at every moment.
const MaxWatched = 120

// ClosedLock is to progress what [Closed] is to the other properties: what was done on a
// lock from the first operation of the core to the last, what ended the grants that this
// is about, and what the nemesis and the store did to their workers until then. It ends
// when the whole history does. Refusals excuse nobody and are left out, and so are
// operations on resources, unless a release left some of several holds: then they tell
// who went on. If that is more than most operations, it is the core alone.
func ClosedLock(l *exact.Ledger, lock string, core []int, most int) *histories.History {
	h := partOf(l.Book(), closeUpLock(l, lock, core, most))
	h.Header.End = histories.Some(exact.EndOf(l.Book().History))
	return h
}

func closeUpLock(l *exact.Ledger, lock string, core []int, most int) []int {
	c := &lockCloser{b: l.Book(), h: l.Book().History, lock: lock, in: map[int]bool{}, renewed: map[*model.Grant]bool{}}
	for _, i := range core {
		c.add(i)
	}
	c.addRenewals()
	alone := keys(c.in, len(c.h.Ops))
	c.from, c.to = span(c.h, core)
	if slices.ContainsFunc(core, func(i int) bool { return c.h.Ops[i].Return == histories.Never }) {
		c.to = exact.EndOf(c.h) // somebody still waits
	}
	c.addWithin()
	for before := 0; before < len(c.in) && len(c.in) <= most; {
		before = len(c.in)
		c.addPartings()
		c.addRenewals()
	}
	c.addOthers()
	if len(c.in) > most {
		return alone
	}
	return keys(c.in, len(c.h.Ops))
}

type lockCloser struct {
	b        *model.Book
	h        *histories.History
	lock     string
	from, to int64
	in       map[int]bool
	renewed  map[*model.Grant]bool
}

func (c *lockCloser) add(i int) {
	c.in[i] = true
	for _, g := range []*model.Grant{c.b.Own(i), c.b.Under(i)} {
		if g != nil {
			c.in[g.Acquire] = true
		}
	}
}

// addRenewals adds a renewal of each grant that is in, if there is one: that they are on
// record counts.
func (c *lockCloser) addRenewals() {
	for i := range c.h.Ops {
		if o := &c.h.Ops[i]; o.F == histories.Renew && c.b.Own(i) != nil {
			if g := c.b.Own(i); c.in[g.Acquire] && !c.renewed[g] {
				c.in[i], c.renewed[g] = true, true
			}
		}
	}
}

// addWithin adds what a worker did on the lock in the time of the core.
func (c *lockCloser) addWithin() {
	keeps := false
	for i := range c.h.Ops {
		o := &c.h.Ops[i]
		if exact.LockOf(c.b, i) != c.lock || !o.ByWorker() || o.Invoke > c.to || o.Type != histories.Info && o.Return < c.from {
			continue
		}
		if o.Type == histories.Fail && o.F != histories.Release || o.F.OnResource() && !keeps {
			continue
		}
		keeps = keeps || o.F == histories.Release && o.HoldsLeft.Or(0) > 0
		c.add(i)
	}
}

// addPartings adds, for every acquire that is in, how its worker let go of the lock
// afterwards, or was told that it is lost.
func (c *lockCloser) addPartings() {
	asked := map[string]bool{}
	for i := range c.h.Ops {
		o := &c.h.Ops[i]
		switch {
		case o.Invoke > c.to:
			return
		case exact.LockOf(c.b, i) != c.lock || !o.ByWorker():
		case o.F == histories.Acquire:
			asked[o.Process] = asked[o.Process] || c.in[i]
		case o.F == histories.Release, o.F == histories.Lost, o.F == histories.Check && !o.Held.Or(true):
			if asked[o.Process] {
				c.add(i)
			}
		}
	}
}

// addOthers adds what the store did on the lock, and the nemesis to those who are in, or
// to no worker at all. What names only other workers would look as if it had hit the
// store.
func (c *lockCloser) addOthers() {
	all, some := map[string]bool{}, map[string]bool{}
	for i := range c.h.Ops {
		if o := &c.h.Ops[i]; o.ByWorker() {
			all[o.Process] = true
			some[o.Process] = some[o.Process] || c.in[i]
		}
	}
	for i := range c.h.Ops {
		o := &c.h.Ops[i]
		switch {
		case o.ByWorker() || o.Invoke > c.to:
		case o.Process == histories.Store:
			if o.Lock == c.lock && some[o.Target] {
				c.in[i] = true
			}
		default:
			words := exact.Named(o)
			if !slices.ContainsFunc(words, func(w string) bool { return all[w] }) || slices.ContainsFunc(words, func(w string) bool { return some[w] }) {
				c.in[i] = true
			}
		}
	}
}
