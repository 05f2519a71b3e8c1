package exact

import (
	"maps"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/histories"
)

// doer is a worker on one lock, followed through its operations in its own order.
type doer struct {
	worker     string
	own        []*hold
	parts      []parting       // by place in own, as far as granted
	unanswered [][]openRenewal // by place in own
	open       []int           // places in own: what it holds, as far as it knows
	surplus    map[int]*surplus
	unsure     []int64 // invocations of acquires without an answer that it has not given back
	hidden     []stay  // times in which it may have held the lock without knowing
}

// surplus are grants of which a release left some, by its count= and by how often the
// worker was granted the lock. By the rule the worker is no live holder any more: one
// that keeps too many holds by mistake looks the same. But if it goes on to use them,
// or gives them back one by one, it was.
type surplus struct {
	grants []int // places in doer.own
	left   int   // releases still due
	used   int64 // when the worker last showed that it holds them
}

// follow does one operation of the worker.
func (l *lockLog) follow(d *doer, i int, o *histories.Operation) {
	if o.F == histories.Acquire {
		l.acquire(d, o)
		return
	}
	h := l.holds[l.book.Own(i)]
	switch {
	case o.F == histories.Release:
		l.release(d, h, i, o)
	case h == nil:
	case o.F == histories.Renew && o.Type != histories.Info:
		d.parts[h.index].renewed = true
	case o.F == histories.Renew:
		d.parts[h.index].renewed = true
		ttl := o.EffectiveTTL()
		if ttl == 0 {
			ttl = h.ttl
		}
		d.unanswered[h.index] = append(d.unanswered[h.index], openRenewal{i, o.Invoke, ttl * 1_000_000})
	case o.Type != histories.OK:
	case o.F == histories.Lost, o.F == histories.Check && !o.Held.Or(true):
		d.closeSurplus(h)
		d.leave(h, parting{said: o.Return, op: i, until: o.Return})
	case o.F == histories.Check || o.F.OnResource():
		if s := d.surplus[h.index]; s != nil {
			s.used = o.Invoke
		}
	}
}

// acquire expects the grant, if there is one, to be the next in d.own.
func (l *lockLog) acquire(d *doer, o *histories.Operation) {
	if o.Type == histories.OK {
		d.open = append(d.open, len(d.parts))
		d.parts = append(d.parts, parting{said: histories.Never, op: -1, until: histories.Never})
		d.unanswered = append(d.unanswered, nil)
	}
	trouble, troubled := l.troubles.firstTrouble(d.worker, o.Invoke, o.Return)
	switch {
	case o.Type == histories.Info && o.Return != histories.Never:
		d.unsure = append(d.unsure, o.Invoke)
	case o.Type != histories.Fail && troubled:
		d.hide(max(o.Invoke, trouble.from), o.Return, asleep)
	}
}

func (d *doer) hide(from, until int64, why doubt) {
	d.hidden = append(d.hidden, stay{from: from, said: from, until: until, worker: d.worker, left: -1, doubt: why})
}

// release: by the rule, a worker that has invoked a release is no live holder, whatever
// the answer. If it was in trouble meanwhile, the release may have left it only later.
func (l *lockLog) release(d *doer, h *hold, i int, o *histories.Operation) {
	p := parting{said: o.Invoke, op: i, until: o.Invoke}
	trouble, troubled := l.troubles.firstTrouble(d.worker, o.Invoke, o.Return)
	switch {
	case !troubled:
	case o.Type == histories.OK:
		p.until, p.doubt = o.Return, unheard
	case o.Return == histories.Never:
		p.until, p.doubt = max(o.Invoke, trouble.to), unheard
	default:
		p.until, p.doubt = max(o.Return, trouble.to), unheard
	}
	over := p.until
	if o.Return != histories.Never {
		over = max(over, o.Return)
	}
	for _, from := range d.unsure {
		d.hide(from, over, maybeGranted)
	}
	d.unsure = d.unsure[:0]
	if h == nil {
		return
	}
	keeps := o.Type == histories.OK && o.HoldsLeft.Or(0) > 0
	if s := d.surplus[h.index]; s != nil {
		s.used, s.left = o.Invoke, s.left-1
		if !keeps || s.left == 0 {
			d.closeSurplus(h)
		}
	}
	if left := d.leave(h, p); keeps && len(left) > 1 {
		s := &surplus{grants: left, left: len(left) - 1, used: o.Invoke}
		for _, i := range left {
			d.surplus[i] = s
		}
	}
}

// leave ends what the worker holds under a grant: all that is older, too, and what is
// nested with it. It returns their places in own.
func (d *doer) leave(h *hold, p parting) []int {
	n := sort.Search(len(d.open), func(k int) bool {
		i := d.open[k]
		return i > h.index && !nested(h, d.own[i])
	})
	left := slices.Clone(d.open[:n])
	d.open = slices.Delete(d.open, 0, n)
	for _, i := range left {
		p.renewed = d.parts[i].renewed
		d.parts[i] = p
	}
	return left
}

func (d *doer) closeSurplus(h *hold) {
	s := d.surplus[h.index]
	if s == nil {
		return
	}
	for _, i := range s.grants {
		if part := &d.parts[i]; s.used > part.until {
			part.until, part.doubt = s.used, stillHolding
		}
		delete(d.surplus, i)
	}
}

// finish is called after the last operation.
func (d *doer) finish() {
	for _, i := range slices.Sorted(maps.Keys(d.surplus)) {
		d.closeSurplus(d.own[i])
	}
	for _, from := range d.unsure {
		d.hide(from, histories.Never, maybeGranted)
	}
}
