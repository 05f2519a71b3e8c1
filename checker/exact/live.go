package exact

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Lives is what [LiveGrant] found out.
type Lives struct {
	// Checked counts the acquires and renewals answered ok for a grant whose end is on
	// record: an end line of its own, or a newer grant of another worker.
	Checked int
	Dead    []DeadGrant // by the operation that was answered
	// Margin is the least time, in ns, by which an end line came after the acquire was
	// answered or the last renewal was invoked; absent if no end line belongs to a grant.
	Margin histories.Option[int64]
	// Undecided: the context ended before every grant was looked at.
	Undecided bool
}

// DeadGrant is an acquire or a renewal that was answered ok for a lease that had ended.
type DeadGrant struct {
	Grant *model.Grant
	Op    int // the acquire or the renewal: place in History.Ops
	// What had ended the lease: the store's own end line (place in History.Ops), or else
	// -1 and the newer grant of another worker, which was granted legally.
	Line  int
	Newer *model.Grant
	// Promise is for two grants whose order is not known: what promised the lock to Newer
	// when the acquire was answered, so that Newer cannot have been first (place in
	// History.Ops). Otherwise it is -1.
	Promise int
}

// Renewed tells whether a renewal was answered; otherwise the acquire itself.
func (d *DeadGrant) Renewed() bool { return d.Op != d.Grant.Acquire }

// LiveGrant judges what was answered ok. The lease of an acquire must not have ended
// before the answer; a renewal must not have been invoked after the end. The end is one
// of two:
//
//   - An end line of the grant's own, within the acquire, or since the promise before
//     the renewal was asked for.
//   - A newer grant of another worker that was answered earlier, if exclusion has no
//     fault in the two: then the lock had passed on legally. (Otherwise that is the
//     fault: both cannot be blamed for one lock that two workers have.)
//
// A late answer alone proves nothing. A renewal says nothing while its own worker is
// giving the grant up (see exclusion).
//
// Grants whose order is not known overlap. If the one that was answered first still has
// its promise when the other one is answered, the other one must have been the older
// (or exclusion is broken), and so its lease had ended.
//
// The time is O(n log n) but for pairs of grants that break exclusion by a late renewal
// and for overlapping acquires without an order; those end with ctx.
func LiveGrant(ctx context.Context, l *Ledger) Lives {
	j := &lives{pace: pace{ctx: ctx}}
	for i := range l.locks {
		lock := &l.locks[i]
		overtaken := j.overtaken(lock)
		for _, h := range lock.holds {
			j.judge(lock, h, overtaken[h])
		}
	}
	j.Undecided = j.over
	slices.SortStableFunc(j.Dead, func(a, b DeadGrant) int { return cmp.Compare(a.Op, b.Op) })
	return j.Lives
}

type lives struct {
	pace
	Lives
}

// judge looks at one grant; overtaken is a rival of unknown order that proves it dead,
// nil if there is none.
func (j *lives) judge(lock *lockHolds, h, overtaken *hold) {
	if len(h.lines) == 0 && h.next == histories.Never && overtaken == nil {
		return
	}
	j.Checked++
	newer := j.successor(lock, h)
	switch line, found := h.lineWithin(h.Invoke+1, h.Return); {
	case found:
		j.dead(h, h.Acquire, line.op, nil)
	case overtaken != nil:
		j.dead(h, h.Acquire, -1, overtaken)
	case newer != nil && newer.Return < h.Return:
		j.dead(h, h.Acquire, -1, newer)
	}
	for k := 1; k < len(h.promises); k++ {
		p := &h.promises[k]
		if !p.accuses() {
			continue
		}
		j.Checked++
		switch line, found := h.lineWithin(h.promises[k-1].invoke, p.invoke); {
		case found:
			j.dead(h, p.op, line.op, nil)
		case newer != nil && newer.Return < p.invoke:
			j.dead(h, p.op, -1, newer)
		}
	}
	j.margin(h)
}

func (j *lives) dead(h *hold, op, line int, newer *hold) {
	d := DeadGrant{Grant: h.Grant, Op: op, Line: line, Promise: -1}
	if newer != nil {
		d.Newer = newer.Grant
		if !model.Older(h.Grant, newer.Grant) {
			d.Promise = newer.answered(h.Return).op
		}
	}
	j.Dead = append(j.Dead, d)
}

// margin: each end line came after the acquire was answered, and after the last renewal
// before it was invoked.
func (j *lives) margin(h *hold) {
	for _, line := range h.lines {
		since := h.Return
		for k := h.begun(line.from) - 1; k > 0; k-- {
			if h.promises[k].accuses() {
				since = max(since, h.promises[k].invoke)
				break
			}
		}
		if line.from >= since {
			j.Margin = histories.Some(min(j.Margin.Or(histories.Never), line.from-since))
		}
	}
}

// successor finds the newer legal grant of another worker that was answered first, nil
// if that was not before the last of what was answered to h. It goes through the answers
// from the first newer one on, and leaps over the times at which a promise to h stood:
// whoever was granted the lock then was granted it early.
func (j *lives) successor(lock *lockHolds, h *hold) *hold {
	last := int64(math.MinInt64)
	if lock.byToken { // else a newer grant was asked for after the answer
		last = h.Return
	}
	for k := len(h.promises) - 1; k > 0; k-- {
		if h.promises[k].accuses() {
			last = max(last, h.promises[k].invoke)
			break
		}
	}
	if h.next >= last {
		return nil
	}
	for k := lock.answeredFrom(h.next); k < len(lock.answers) && lock.answers[k].Return < last; k++ {
		o := lock.answers[k]
		if !j.spend(1) {
			return nil
		}
		if o.Worker == h.Worker || o.shared && h.shared || !model.Older(h.Grant, o.Grant) {
			continue
		}
		if p := h.standing(o.Return); p != nil {
			k = lock.answeredFrom(p.until()) - 1
			continue
		}
		if _, broken := j.ifFirst(h, o); !broken && !j.over {
			return o
		}
	}
	return nil
}

// overtaken finds the grants that a rival of unknown order proves dead, and the first
// such rival of each.
func (j *lives) overtaken(lock *lockHolds) map[*hold]*hold {
	if lock.byToken {
		return nil
	}
	found := map[*hold]*hold{}
	var open []*hold // asked for, and not answered yet
	asked := 0
	for _, o := range lock.answers {
		for ; asked < len(lock.holds) && lock.holds[asked].Invoke <= o.Return; asked++ {
			open = append(open, lock.holds[asked])
		}
		open = slices.DeleteFunc(open, func(g *hold) bool { return g.Return <= o.Return })
		if !j.spend(1 + len(open)) {
			return found
		}
		for _, g := range open {
			if found[g] == nil && j.overtakes(o, g) {
				found[g] = o
			}
		}
	}
	return found
}

// overtakes: o was answered while g was open.
func (j *lives) overtakes(o, g *hold) bool {
	if o.Worker == g.Worker || o.shared && g.shared {
		return false
	}
	if p := o.answered(g.Return); p == nil || p.until() <= g.Return {
		return false
	}
	_, broken := j.ifFirst(g, o)
	return !broken && !j.over // an end of the context is no proof
}
