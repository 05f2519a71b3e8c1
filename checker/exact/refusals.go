package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Refusals is what [OverFencing] found out.
type Refusals struct {
	// Checked counts the refusals of a grant's own token, or of none, of which it can be
	// told whether they were right.
	Checked int
	Wrong   []Refusal // in the order of their invocations
	// Doubt is the first refusal whose grant is the newest one, not given back, and was
	// no longer promised: the resource may have known that the lease had ended. Nil if
	// there is none.
	Doubt *Refusal
	// Margin is the least time, in ns, from the end of the last promise to the answer of
	// such a refusal; absent if there is none.
	Margin histories.Option[int64]
}

// Refusal is an operation that the resource refused because of its token.
type Refusal struct {
	Op    int // place in History.Ops
	Grant *model.Grant
	// Promises stood one after the other while it was refused: the acquire or renewals
	// that gave them, places in History.Ops. Of a doubt it is the last one.
	Promises []int
	End      int64 // of the last of them: its invocation plus ttl, ns; histories.Never: no ttl
}

// OverFencing judges the refusals because of the token. One is wrong if the operation
// sent its grant's own token or none, no other worker has a grant that may be newer,
// the worker has not given the grant back (ok, or without an answer), and the store's
// promise stood all the while.
//
// A grant that may be newer excuses as soon as it was asked for: its token may be with
// the resource before its worker knows of it. The promise must stand from the
// operation's invocation to its answer, since the resource may have looked at any
// moment between: between a lease that has run out and a renewal that revives it, it
// was right. Grants in shared mode are not judged: others may stand beside them, with
// larger tokens.
func OverFencing(l *Ledger) Refusals {
	j := &refusals{Ledger: l, given: map[*hold]int{}}
	for who, list := range l.releases {
		j.noteReleases(l.own[who], list)
	}
	for i := range l.book.History.Ops {
		if o := &l.book.History.Ops[i]; o.ByWorker() && o.F.OnResource() && o.Fenced() {
			j.judge(i, o)
		}
	}
	return j.Refusals
}

type refusals struct {
	*Ledger
	Refusals
	given map[*hold]int // the first release that gave the grant back, or may have: place in History.Ops
}

// noteReleases expects the releases and the grants of one worker on one lock.
func (j *refusals) noteReleases(own []*hold, list []release) {
	for i, first := range j.firstReleases(own) {
		if op := min(first.ok, first.maybe); op < none {
			j.given[own[i]] = op
		}
	}
}

func (j *refusals) judge(i int, o *histories.Operation) {
	h := j.holds[j.book.Own(i)]
	if h == nil || h.shared || o.Token.Known() && o.Token != h.Token {
		return
	}
	given, known := j.given[h]
	if h.rival <= o.Return || known && given < i {
		j.Checked++
		return
	}
	promises, stood := h.stoodAll(o.Invoke, o.Return)
	if !stood {
		promises = []*promise{h.answered(o.Return)}
	}
	found := Refusal{Op: i, Grant: h.Grant}
	for _, p := range promises {
		found.Promises, found.End = append(found.Promises, p.op), p.end
	}
	switch {
	case stood:
		j.Checked++
		j.Wrong = append(j.Wrong, found)
	case j.Doubt == nil:
		j.Doubt = &found
	}
	if over := promises[0].until(); !stood && over <= o.Return {
		j.Margin = histories.Some(min(j.Margin.Or(histories.Never), o.Return-over))
	}
}

// stoodAll tells whether at each moment of a span of time some promise stood that had
// been answered by then, and which ones did: each takes over when the one before ends.
func (h *hold) stoodAll(from, to int64) (promises []*promise, stood bool) {
	for {
		p := h.answered(from)
		if p == nil || p.until() <= from {
			return nil, false
		}
		if promises, from = append(promises, p), p.until(); from > to {
			return promises, true
		}
	}
}
