package simulate

import (
	"fmt"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// client is a worker: a main thread that does one thing after the other, and
// keepalive threads. When it is killed and started again it keeps its name and
// forgets everything else.
type client struct {
	w     *world
	name  string
	reads bool // a bystander
	life  int
	dead  bool

	stopped bool
	lastOn  int64    // when it went on after its last stop
	parked  []func() // what it would have done while it was stopped

	open     []*request
	reliable bool // nothing happens to the next request, nor to its sender until it is answered
	steps    int
	holds    []*hold           // those that it believes to have
	had      map[*lock][]*hold // all that were answered ok, in all lives
	named    int
}

// hold is one grant as its client sees it: one acquire.
type hold struct {
	owner   *client
	life    int
	lock    *lock
	lease   *lease
	acquire *entry
	ttl     int64 // ns that the store granted; 0: until released
	name    string
	granted bool // answered ok
	left    bool // the client has let go of it
	freed   bool // by a release that was not refused
	told    bool // that it is lost
	bases   map[*resource]int
}

// afterIn lets the client do something, at a tick of its clock, if it then still
// lives the given life. While it is stopped it does nothing; all that comes when it
// goes on.
func (c *client) afterIn(life int, d int64, do func()) {
	c.w.at(c.w.tick(c.w.now+d), func() {
		switch {
		case c.life != life || c.dead:
		case c.stopped:
			c.parked = append(c.parked, do)
		default:
			do()
		}
	})
}

func (c *client) after(d int64, do func()) { c.afterIn(c.life, d, do) }

func (c *client) forget(r *request) {
	c.open = slices.DeleteFunc(c.open, func(x *request) bool { return x == r })
}

// next goes on with the main thread, soon; now and then only after a lease's time.
func (c *client) next() {
	think := c.w.Int64N(4 * ms)
	if c.w.chance(0.08) {
		think += c.w.Int64N(50 * ms)
	}
	c.after(think, c.step)
}

func (c *client) step() {
	w := c.w
	if c.steps--; c.steps < 0 {
		return
	}
	l := w.locks[w.IntN(len(w.locks))]
	h := c.newest(l)
	switch {
	case c.reads:
		c.operate(nil, l)
	case w.chance(w.Checks) && c.mayCheck(l):
		c.check(l)
	case h == nil && w.chance(0.25) && w.mayRead(c, l):
		c.operate(nil, l)
	case h == nil:
		c.acquire(l)
	case w.chance(0.15):
		c.release(h)
	case w.chance(0.1) && (w.Reentrant || l.ttl() > 0):
		c.acquire(l)
	default:
		c.operate(h, l)
	}
}

// newest is the newest hold of a lock that the client believes to have.
func (c *client) newest(l *lock) *hold {
	for _, h := range slices.Backward(c.holds) {
		if h.lock == l && !h.left {
			return h
		}
	}
	return nil
}

// current is the grant to which an operation belongs that names none: the newest
// that was not released, else the newest.
func (c *client) current(l *lock) *hold {
	all := c.had[l]
	for _, h := range slices.Backward(all) {
		if !h.freed {
			return h
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// leave: the client does nothing under the grant any more.
func (c *client) leave(h *hold) {
	h.left = true
	c.holds = slices.DeleteFunc(c.holds, func(x *hold) bool { return x == h })
}

func (c *client) acquire(l *lock) {
	w := c.w
	h := &hold{owner: c, life: c.life, lock: l, bases: map[*resource]int{}}
	o := histories.Operation{Process: c.name, F: histories.Acquire, Lock: l.name, TTLAsked: w.TTL[w.IntN(len(w.TTL))]}
	if w.Names == NamedWhenAsked {
		h.name = c.nextName()
		o.Grant = h.name
	}
	h.acquire = w.begin(o)
	h.acquire.hold = h
	wait := w.chance(w.Blocking)
	c.ask(h.acquire, func(r *request) { l.acquire(r, h, wait) }, func() { c.acquired(h) })
	if wait && w.chance(0.5) {
		c.open[len(c.open)-1].giveUpAfter(10*ms + w.Int64N(60*ms))
	}
	if w.Sessions && wait && w.chance(0.9) {
		c.keepAlive(h, 3+w.IntN(4))
	}
}

func (c *client) nextName() string {
	c.named++
	return fmt.Sprintf("%s-%d", c.name, c.named)
}

func (c *client) acquired(h *hold) {
	w := c.w
	switch h.acquire.Type {
	case histories.OK:
		h.granted = true
		c.holds = slices.DeleteFunc(c.holds, func(x *hold) bool { return x.lock == h.lock && x.lease != h.lease })
		c.holds = append(c.holds, h)
		c.had[h.lock] = append(c.had[h.lock], h)
		if w.chance(w.Renews) && !(w.Sessions && h.acquire.Return > h.acquire.Invoke+5*ms) {
			c.keepAlive(h, 1+w.IntN(4))
		}
	case histories.Info: // it may have the lock, and gives it back if it can name it
		if h.name != "" && w.chance(0.4) {
			c.release(h)
			return
		}
	}
	c.next()
}

func (c *client) release(h *hold) {
	w := c.w
	o := histories.Operation{Process: c.name, F: histories.Release, Lock: h.lock.name}
	e := w.begin(o)
	e.hold = h
	mine := []*hold{h}
	if w.ReleaseAll && h.granted {
		for _, x := range c.holds {
			if x.lock == h.lock && x != h {
				mine = append(mine, x)
			}
		}
	}
	for _, x := range mine {
		c.leave(x)
	}
	// An unanswered release excuses only the grant that it names, by the rules: so one
	// that ends several always has an answer.
	c.reliable = len(mine) > 1
	c.ask(e, func(r *request) { h.lock.release(r, mine) }, func() {
		h.freed = e.Type != histories.Fail
		if !h.freed && h.granted && w.chance(0.2) { // it goes on as if nothing had happened
			h.left = false
			c.holds = append(c.holds, h)
		}
		if e.Type == histories.OK && h.granted && w.tells(WritesAfterRelease) {
			w.lied = true
			c.touch(h, histories.Write, w.resourceOf(h.lock), c.next)
			return
		}
		c.next()
	})
}

// mayCheck: a process that was started again has no grant of its own yet. To ask
// whether it holds the lock would be to ask about another life.
func (c *client) mayCheck(l *lock) bool {
	h := c.current(l)
	return h == nil || h.life == c.life
}

func (c *client) check(l *lock) {
	e := c.w.begin(histories.Operation{Process: c.name, F: histories.Check, Lock: l.name})
	e.hold = c.current(l)
	c.ask(e, func(r *request) {
		held := l.holder != nil && l.holder.owner == c && l.holder.life == r.life
		r.reply(func(o *histories.Operation) { o.Type, o.Held = histories.OK, histories.Some(held) })
	}, c.next)
}
