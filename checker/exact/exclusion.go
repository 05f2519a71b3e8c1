package exact

import (
	"cmp"
	"context"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Promised is what [Exclusion] found out.
type Promised struct {
	Checked  int      // grants beside an older or overlapping one of another worker, and renewals after a newer one
	Breaches []Breach // by the operation that broke the promise
	// Margin is the least time, in ns, from the end of a promise that ran out by
	// itself to the answer of the next grant; absent if no lease passed on that way.
	Margin histories.Option[int64]
	// Undecided: the context ended before every pair of unknown order was looked at.
	Undecided bool
}

// Breach is a promise broken. If the order of the two grants is known, there is one
// proof; if it is not, there is one for either order.
type Breach struct {
	Proofs []Proof
}

// Proof: if Older is the older grant of the two, an operation of the one was
// answered ok while a promise to the other stood. The one is Newer, which was
// granted early; or it is Older, which was renewed late.
type Proof struct {
	Older, Newer *model.Grant
	Promise      int   // the acquire or renewal that gave the promise: place in History.Ops
	End          int64 // the promise's invocation plus ttl, ns; histories.Never: no ttl
	Late         int   // what was answered meanwhile: place in History.Ops
}

// Early tells whether the newer grant came too early; otherwise the older one was
// renewed too late.
func (p *Proof) Early() bool { return p.Late == p.Newer.Acquire }

// Exclusion judges every pair of grants of different workers on one lock:
//
//   - The newer grant must not be answered while a promise to the older one stands.
//   - A renewal of the older grant that was invoked after the newer one was answered
//     must not be answered ok while a promise to the newer one stands, unless its
//     own worker was giving the older grant up.
//
// Pairs whose order is known are judged in two sweeps over the grants, from old to
// new and back; pairs of unknown order one by one. They overlap, and a worker has
// one acquire open at a time, so there are fewer of them for a grant than workers.
// They alone can take long (a history may have as many workers as grants), and end
// with ctx; a history of ordinary size is decided whatever ctx says.
func Exclusion(ctx context.Context, l *Ledger) Promised {
	j := &exclusion{pace: pace{ctx: ctx}}
	for i := range l.locks {
		lock := &l.locks[i]
		j.cases = make([]caseKind, len(lock.holds))
		j.grantedEarly(lock)
		j.renewedLate(lock)
		if !lock.byToken {
			j.together(lock)
		}
	}
	slices.SortStableFunc(j.Breaches, func(a, b Breach) int { return cmp.Compare(a.Proofs[0].Late, b.Proofs[0].Late) })
	j.Undecided = j.over
	return j.Promised
}

type exclusion struct {
	pace
	Promised
	cases []caseKind // of the lock's grants, in their order
}

// caseKind says how a grant was counted.
type caseKind uint8

const (
	noCase caseKind = iota
	judged          // as a case beside an older grant
	broken          // as a breach
)

// grantedEarly visits the grants from old to new. When it comes to a grant, the
// promises of all certainly older ones are in the index.
func (j *exclusion) grantedEarly(lock *lockHolds) {
	begun := func(_ *hold, p *promise) int64 { return p.invoke }
	standing, ranOut := newIndex(lock.holds, begun), newIndex(lock.holds, begun)
	add := func(h *hold) {
		for k := range h.promises {
			p := &h.promises[k]
			standing.add(p.invoke, claim{h, k, p.until()})
			if p.until() == p.end && p.end != histories.Never {
				ranOut.add(p.invoke, claim{h, k, p.end})
			}
		}
	}
	lock.oldToNew(add, func(g *hold) {
		longest := standing.longest(g.Return, g)
		if longest.hold == nil {
			return
		}
		j.Checked++
		j.cases[g.place] = judged
		if longest.until > g.Return {
			j.cases[g.place] = broken
			j.breach(proofOf(longest.hold, g, longest.promise(), g.Acquire))
			return
		}
		if last := ranOut.longest(g.Return, g); last.hold != nil {
			j.Margin = histories.Some(min(j.Margin.Or(histories.Never), g.Return-last.until))
		}
	})
}

// renewedLate is the mirror: from new to old. A promise counts against a renewal if
// it was answered by the renewal's invocation and its grant strictly before; keys
// are doubled to make that one comparison.
func (j *exclusion) renewedLate(lock *lockHolds) {
	known := func(h *hold, p *promise) int64 { return max(2*p.answer, 2*h.Return+1) }
	standing := newIndex(lock.holds, known)
	add := func(h *hold) {
		for k := range h.promises {
			p := &h.promises[k]
			standing.add(known(h, p), claim{h, k, p.until()})
		}
	}
	lock.newToOld(add, func(g *hold) {
		for k := range g.promises[1:] {
			r := &g.promises[k+1]
			longest := standing.longest(2*r.invoke, g)
			if longest.hold == nil || !r.accuses() {
				continue
			}
			j.Checked++
			if longest.until > r.answer {
				j.breach(proofOf(g, longest.hold, longest.promise(), r.op))
			}
		}
	})
}

func proofOf(older, newer *hold, p *promise, late int) Proof {
	return Proof{Older: older.Grant, Newer: newer.Grant, Promise: p.op, End: p.end, Late: late}
}

func (j *exclusion) breach(proofs ...Proof) { j.Breaches = append(j.Breaches, Breach{proofs}) }
