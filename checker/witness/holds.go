package witness

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Hold tells of an operation outside a hold: what its worker had, and what it lacked.
func Hold(l *exact.Ledger, x exact.Outside) Witness {
	t := &teller{b: l.Book(), h: l.Book().History}
	o := &t.h.Ops[x.Op]
	w := Witness{Lock: t.b.Lock(x.Op), Resource: o.Resource, Stale: x.Op, Core: []int{x.Op}}
	fault := ""
	switch x.Fault {
	case exact.NoGrant:
		fault = t.tellNoGrant(&w, x.Op)
	case exact.Released:
		fault = t.tellGivenBack(&w, l, &x)
	case exact.BorrowedToken:
		fault = t.tellBorrowed(&w, &x)
	default:
		fault = t.tellForeign(&w, &x)
	}
	w.Title = fmt.Sprintf("worker %s %s on %s %s", cut(o.Process), t.did(x.Op), cut(o.Resource), fault)
	t.say(sentence{subject: o.Process, mood: Wrong, op: x.Op, at: o.Return,
		text: fmt.Sprintf("%s at %s %s: accepted at %s.", t.did(x.Op), seconds(o.Invoke), fault, seconds(o.Return))})
	w.Core = sorted(w.Core...)
	t.finish(&w, closeUp(l, w.Core))
	return w
}

// tellNoGrant tells of what the worker had asked for last.
func (t *teller) tellNoGrant(w *Witness, op int) string {
	last := t.askedFor(w.Lock, t.h.Ops[op].Grant, op)
	if last >= 0 {
		a := &t.h.Ops[last]
		answer := "had no answer"
		if a.Type == histories.Fail {
			answer = "was refused"
		}
		w.Core = append(w.Core, last)
		t.say(sentence{subject: a.Process, op: last, at: a.Invoke,
			text: fmt.Sprintf("asked for the lock %s%s at %s, and %s.", cut(a.Lock), lease(a), seconds(a.Invoke), answer)})
	}
	return fmt.Sprintf("without a grant of the lock %s", cut(w.Lock))
}

// askedFor is the acquire that opens the grant which an operation names; or the worker's
// last one, if it names none; -1 if there is none.
func (t *teller) askedFor(lock, grant string, op int) int {
	last := -1
	for i := range t.h.Ops {
		a := &t.h.Ops[i]
		if a.F == histories.Acquire && a.Process == t.h.Ops[op].Process && (a.Grant == grant && grant != "" || a.Lock == lock && grant == "" && i < op) {
			last = i
		}
	}
	return last
}

// tellGivenBack tells of the release. Grants with the same token count as one: all of
// them were given back.
func (t *teller) tellGivenBack(w *Witness, l *exact.Ledger, x *exact.Outside) string {
	t.tellGrant(x.Grant, nil)
	r := &t.h.Ops[x.Release]
	t.say(sentence{subject: r.Process, op: x.Release, at: r.Invoke,
		text: fmt.Sprintf("asked at %s to release the lock, and was answered ok at %s.", seconds(r.Invoke), seconds(r.Return))})
	w.Core = append(w.Core, x.Grant.Acquire)
	w.Core = append(w.Core, l.GivenBack(x.Op)...)
	return fmt.Sprintf("after it had released the lock %s", cut(w.Lock))
}

// tellBorrowed tells whose token it was.
func (t *teller) tellBorrowed(w *Witness, x *exact.Outside) string {
	token := t.h.Ops[x.Op].Token.Or(0)
	t.tellGrant(x.Grant, nil)
	w.Core = append(w.Core, x.Grant.Acquire)
	if owner := t.ownerOf(token, x); owner != nil {
		t.tellGrant(owner, nil)
		return fmt.Sprintf("with token %d, which was granted to worker %s, and not with its own", token, cut(owner.Worker))
	}
	return fmt.Sprintf("with token %d, which is not the one of its grant", token)
}

// ownerOf is the last grant of a token that had been answered, or of another worker if
// there is one; nil if nobody had it.
func (t *teller) ownerOf(token int64, x *exact.Outside) *model.Grant {
	var owner *model.Grant
	for _, g := range t.b.Grants {
		if n, known := g.Token.Get(); known && n == token && g.Lock == x.Grant.Lock && g.Return <= t.h.Ops[x.Op].Return {
			owner = g
		}
	}
	return owner
}

// tellForeign tells of the two grants: the one under which the value was decided, and the
// one under which it was sent.
func (t *teller) tellForeign(w *Witness, x *exact.Outside) string {
	w.Core = append(w.Core, x.Grant.Acquire)
	decided := "under a grant that it was never answered"
	if g := t.b.Under(x.Op); g != nil {
		w.Core = append(w.Core, g.Acquire)
		t.tellGrant(g, nil)
		decided = fmt.Sprintf("under %s", grantName(g))
	} else if i := t.askedFor(w.Lock, t.h.Ops[x.Op].Under, x.Op); i >= 0 {
		w.Core = append(w.Core, i)
	}
	t.tellGrant(x.Grant, nil)
	return fmt.Sprintf("under %s, on a decision taken %s", grantName(x.Grant), decided)
}
