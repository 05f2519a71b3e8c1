package simulate

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
)

// resource is what a lock guards. It is honest: it applies what it accepts, in one
// order, and refuses what its fence must not let pass.
//
// Where there is no fence, or not enough of one, nothing but luck keeps the worst from
// happening. The simulation is lucky: an operation that would break what the checkers
// look for gets lost on its way, with no answer.
type resource struct {
	w       *world
	name    string
	lock    *lock
	value   string
	start   string // the value that it had at first
	written []string
	highest int64           // token of the operations that raised the fence
	fenced  bool            // some operation did
	touched int             // highest number of a lease under which a counted operation was accepted
	effects int             // operations that took effect
	last    map[*client]int // the effect of the last write of each
	commits int64
}

func (w *world) resourceOf(l *lock) *resource {
	var mine []*resource
	for _, r := range w.resources {
		if r.lock == l {
			mine = append(mine, r)
		}
	}
	return mine[w.IntN(len(mine))]
}

// mayRead: where reads count, one that belongs to an old grant had better not be done.
func (w *world) mayRead(c *client, l *lock) bool {
	return w.Fence != histories.FenceAll || c.current(l) == nil
}

// operate does something with a resource of the lock, under a grant or none.
func (c *client) operate(h *hold, l *lock) {
	w := c.w
	f := histories.Read
	if h != nil && w.chance(0.5) {
		f = histories.Write
	}
	if h != nil && w.chance(w.Opens) {
		f = histories.Open
	}
	if h != nil && w.chance(0.2) {
		h = c.nested(h)
	}
	c.touch(h, f, w.resourceOf(l), c.next)
}

// nested is one of the client's holds that no fence can tell from the given one.
func (c *client) nested(h *hold) *hold {
	for _, x := range c.holds {
		if x.lease == h.lease && x.acquire.Token == h.acquire.Token && x.acquire.Token.Known() {
			return x
		}
	}
	return h
}

func (c *client) touch(h *hold, f histories.F, res *resource, done func()) {
	w := c.w
	o := histories.Operation{Process: c.name, F: f, Resource: res.name}
	if w.Explicit {
		o.Lock = res.lock.name
	}
	if h != nil && h.acquire.Token.Known() && (w.Fence != histories.FenceOff || w.chance(0.5)) {
		o.Token = h.acquire.Token
	}
	if f == histories.Write {
		o.Value = histories.Some(res.nextValue())
	}
	e := w.begin(o)
	if e.hold = h; h == nil {
		e.hold, e.idle = c.current(res.lock), true
	}
	if f == histories.Write && w.chance(0.2) {
		e.under = c.nested(h)
	}
	base := -1 // the effect of the read on which a write is based
	if under := cmpOr(e.under, e.hold); under != nil {
		if at, read := under.bases[res]; read {
			base = at
		}
	}
	seen := 0
	c.ask(e, func(r *request) { seen = res.serve(r, base) }, func() {
		if f == histories.Read && e.Type == histories.OK && e.hold != nil {
			e.hold.bases[res] = seen
		}
		if e.Fenced() && w.chance(w.Careful) && h != nil {
			c.leave(h)
		}
		done()
	})
}

func cmpOr(a, b *hold) *hold {
	if a != nil {
		return a
	}
	return b
}

func (res *resource) nextValue() string {
	w := res.w
	if len(res.written) > 0 && w.chance(w.Repeats) {
		return res.written[w.IntN(len(res.written))]
	}
	v := fmt.Sprintf("%s%d", []string{"v", "w"}[w.IntN(2)], len(res.written))
	res.written = append(res.written, v)
	return v
}

// serve lets an operation take effect, and returns when that was among the effects.
func (res *resource) serve(r *request, base int) int {
	w := res.w
	counted := (r.F == histories.Write || w.Fence == histories.FenceAll) && r.hold != nil
	refused := counted && res.refuses(r)
	switch {
	case refused && w.tells(ForgetsFence):
		w.lied = true
	case refused:
		res.refuse(r)
		return 0
	case counted && w.Fence != histories.FenceOff && res.lock.holder == r.hold.lease && w.tells(RefusesHolder):
		w.lied = true
		res.refuse(r)
		return 0
	case w.lie == "" && (counted && r.hold.lease.number < res.touched || r.F == histories.Write && res.outdated(r.from, base)):
		r.loseAnswer()
		return 0
	}
	res.effects++
	if counted {
		res.touched = max(res.touched, r.hold.lease.number)
		if token, sent := r.Token.Get(); sent && (!res.fenced || token > res.highest) {
			res.highest, res.fenced = token, true
		}
	}
	if r.F == histories.Write {
		res.write(r)
	}
	number := res.number(r.F == histories.Write)
	value := res.value
	r.reply(func(o *histories.Operation) {
		o.Type, o.Seq = histories.OK, number
		if o.F == histories.Read && !(w.Repeats > 0 && w.chance(0.1)) {
			o.Value = histories.Some(value)
		}
	})
	return res.effects
}

func (res *resource) write(r *request) {
	w := res.w
	res.last[r.from] = res.effects
	if w.tells(DropsWrites) {
		w.lied = true
		return
	}
	res.value = r.Value.Or("")
}

// refuses tells whether the fence turns an operation away that it counts.
func (res *resource) refuses(r *request) bool {
	w := res.w
	switch {
	case w.Fence == histories.FenceOff:
		return false
	case w.AskStore:
		return res.lock.holder != r.hold.lease
	}
	token, sent := r.Token.Get()
	return sent && res.fenced && token < res.highest
}

func (res *resource) refuse(r *request) {
	number := histories.Option[int64]{}
	if res.w.Numbers == EveryState || res.w.Numbers == SomeNumbers && res.w.chance(0.3) {
		number = histories.Some(res.commits)
	}
	r.reply(func(o *histories.Operation) { o.Type, o.Error, o.Seq = histories.Fail, histories.ErrFenced, number })
}

// outdated tells whether somebody else has written since a read.
func (res *resource) outdated(c *client, base int) bool {
	if base < 0 {
		return false
	}
	for who, at := range res.last {
		if who != c && at > base {
			return true
		}
	}
	return false
}

// number is what the resource says about its order.
func (res *resource) number(write bool) histories.Option[int64] {
	w := res.w
	if write || w.Numbers == EveryOperation {
		res.commits++
	}
	switch {
	case w.Numbers == NoNumbers, w.Numbers == WritesOnly && !write, w.Numbers == SomeNumbers && w.chance(0.5):
		return histories.Option[int64]{}
	}
	return histories.Some(res.commits)
}
