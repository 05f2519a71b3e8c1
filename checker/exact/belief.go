package exact

import (
	"context"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Beliefs is what [Belief] found out.
type Beliefs struct {
	Checked int       // answers that could be judged
	Untrue  []Untruth // in the order of the answers' invocations
	// Unsure counts the answers "held" that could not be judged: the last promise was
	// over, and nothing on record says that the lease was.
	Unsure int
	// Margin is the least time, in ns, that a promise still stood when the worker was
	// told that it held the lock, or had been over when it was told that it did not;
	// absent if no answer can be timed.
	Margin histories.Option[int64]
	// Undecided: the context ended before every answer was looked at.
	Undecided bool
}

// Untruth is an answer to a check, or a loss that was told, that was not true.
type Untruth struct {
	Op   int  // the answer: place in History.Ops
	Held bool // what was said
	// Grant is the grant that the answer was about; nil if the worker never had one, and
	// was refused each time that it asked.
	Grant *model.Grant
	// Promise is the acquire or renewal (place in History.Ops) that gave the last promise,
	// if "held" is untrue, or one that still stood, if "lost" is. End is the end of that
	// promise, in ns; histories.Never if it has none.
	Promise int
	End     int64
	// By is what had ended the lease, if "held" is untrue: an end line, a release, or the
	// acquire of another worker's newer grant; without a Grant the last refused acquire.
	// It is -1 if "lost" is untrue.
	By int
}

// Belief judges what the client told its worker: the answers of check, and every loss.
//
//   - "Held" is untrue if no promise stood at any moment of the check, and the end of the
//     lease is on record: since the last promise the worker released the grant (ok), the
//     store was seen to end it, or another worker was granted a newer one. Without any
//     grant it is untrue if the worker had asked for the lock and was refused each time.
//   - "Lost" (or "not held") is untrue if one promise stood from before the question to
//     after the answer, and nothing ended it: no line of the store about this worker and
//     no kill since the last promise, and no grant of another worker that may be newer
//     was asked for by then.
//
// Whatever lies between is not judged. A cautious client that gives up early is untrue
// like any other; how early it was can be told from the end of the promise.
func Belief(ctx context.Context, l *Ledger) Beliefs {
	j := &beliefs{pace: pace{ctx: ctx}, ledger: l, asked: map[holder]asking{}, ended: map[holder]ends{}, locks: map[string]*lockHolds{}}
	for i := range l.locks {
		lock := &l.locks[i]
		j.locks[lock.holds[0].Lock] = lock
	}
	for i := range l.book.History.Ops {
		o := &l.book.History.Ops[i]
		if !o.ByWorker() {
			continue
		}
		held, said := o.Held.Get()
		switch {
		case o.F == histories.Acquire:
			j.ask(i, o)
		case o.Type != histories.OK:
		case o.F == histories.Check && said && held:
			j.held(i, o)
		case o.F == histories.Check && said, o.F == histories.Lost:
			j.lost(i, o)
		}
	}
	j.Undecided = j.over
	return j.Beliefs
}

type beliefs struct {
	pace
	Beliefs
	ledger *Ledger
	asked  map[holder]asking
	ended  map[holder]ends // what the store and the nemesis did to a worker's leases
	locks  map[string]*lockHolds
}

// asking is what came of a worker's acquires so far.
type asking struct {
	refused int  // the last refused one: place in History.Ops
	granted bool // one was granted, or may have been
}

func (j *beliefs) ask(i int, o *histories.Operation) {
	who := holder{o.Process, o.Lock}
	a := j.asked[who]
	if o.Type == histories.Fail {
		a.refused = i
	} else {
		a.granted = true
	}
	j.asked[who] = a
}

// judged counts an answer that was true, and by how much.
func (j *beliefs) judged(ns int64) {
	j.Checked++
	if ns != histories.Never {
		j.Margin = histories.Some(min(j.Margin.Or(histories.Never), ns))
	}
}

func (j *beliefs) untrue(u Untruth) {
	j.Checked++
	j.Untrue = append(j.Untrue, u)
}

func (j *beliefs) held(i int, o *histories.Operation) {
	h := j.ledger.holds[j.ledger.book.Own(i)]
	if h == nil {
		j.heldWithoutGrant(i, o)
		return
	}
	p := h.longestBegun(o.Return)
	if p != nil && p.until() > o.Invoke {
		j.judged(left(p.until(), o.Invoke))
		return
	}
	last := &h.promises[h.begun(o.Return)-1]
	by := j.endedSince(h, last, i, o.Invoke)
	if by < 0 {
		j.Unsure++
		return
	}
	j.untrue(Untruth{Op: i, Held: true, Grant: h.Grant, Promise: last.op, End: last.end, By: by})
}

// left is how long a promise stands from t on; histories.Never if it has no end.
func left(until, t int64) int64 {
	if until == histories.Never {
		return until
	}
	return until - t
}

func (j *beliefs) heldWithoutGrant(i int, o *histories.Operation) {
	a, asked := j.asked[holder{o.Process, o.Lock}]
	if !asked || a.granted {
		j.Unsure++ // whoever never asked may have had the lock before the history began
		return
	}
	j.untrue(Untruth{Op: i, Held: true, Promise: -1, End: histories.Never, By: a.refused})
}

// endedSince finds on record what ended a grant after its last promise was asked for,
// and before check was, at t; -1 if nothing did.
func (j *beliefs) endedSince(h *hold, last *promise, check int, t int64) int {
	if gone := last.gone; gone >= 0 && gone < check && j.ledger.book.History.Ops[gone].Return <= t {
		return gone // a worker checks and releases one after the other: equal times do not matter
	}
	if line, found := h.lineWithin(last.invoke, t); found {
		return line.op
	}
	if h.next >= t {
		return -1
	}
	lock := j.locks[h.Lock]
	for k := lock.answeredFrom(max(h.next, last.invoke)); k < len(lock.answers) && lock.answers[k].Return < t && j.spend(1); k++ {
		n := lock.answers[k]
		if n.Worker != h.Worker && !(n.shared && h.shared) && model.Older(h.Grant, n.Grant) {
			return n.Acquire
		}
	}
	return -1
}

func (j *beliefs) lost(i int, o *histories.Operation) {
	h := j.ledger.holds[j.ledger.book.Own(i)]
	if h == nil {
		j.Checked++ // nothing was ever promised to it
		return
	}
	if p := h.answered(o.Invoke - 1); p == nil || p.until() <= o.Return {
		j.told(h, o)
		return
	}
	for k := h.begun(o.Invoke-1) - 1; k >= 0 && j.spend(1); k-- { // the newest that stands
		p := &h.promises[k]
		if p.answer < o.Invoke && p.until() > o.Return {
			if !j.sign(h, p, o.Return) {
				j.untrue(Untruth{Op: i, Grant: h.Grant, Promise: p.op, End: p.end, By: -1})
			}
			return
		}
	}
}

// told: no promise certainly stood. It is not judged if one may have.
func (j *beliefs) told(h *hold, o *histories.Operation) {
	switch p := h.longestBegun(o.Return); {
	case p == nil:
		j.judged(histories.Never)
	case p.until() > o.Invoke:
	case p.until() == p.end:
		j.judged(o.Invoke - p.end)
	default:
		j.judged(histories.Never)
	}
}

// sign tells whether anything may have ended a promise that stands, against the rules
// or not: the store was seen to end a lease of this worker, or somebody killed it, or
// another worker may have been granted the lock by t.
func (j *beliefs) sign(h *hold, p *promise, t int64) bool {
	who := holder{h.Worker, h.Lock}
	if _, known := j.ended[who]; !known {
		j.ended[who] = newEnds(slices.Concat(j.ledger.expired[who], j.ledger.revoked[who], j.ledger.killed[h.Worker]))
	}
	return h.rival <= t || j.ended[who].after(p.invoke) <= t
}
