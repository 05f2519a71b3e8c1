package witness

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// OverFencing tells of a live holder that was refused: what it had been promised, and
// what the resource had taken before, if that explains it.
func OverFencing(l *exact.Ledger, r exact.Refusal) Witness {
	t := &teller{b: l.Book(), h: l.Book().History}
	g, o := r.Grant, &t.h.Ops[r.Op]
	w := Witness{Lock: g.Lock, Resource: o.Resource, Stale: r.Op}
	w.Core = sorted(append([]int{g.Acquire, r.Op}, r.Promises...)...)
	w.Title = fmt.Sprintf("worker %s was refused by %s under %s, although it held the lock %s",
		cut(g.Worker), cut(o.Resource), grantName(g), cut(g.Lock))
	p := &exact.Proof{Promise: r.Promises[len(r.Promises)-1], End: r.End}
	t.tellGrant(g, p)
	t.tellPromise(g, p)
	extra := closeUp(l, w.Core)
	if before := t.takenBefore(r.Op); before >= 0 {
		extra = append(extra, before)
		if under := t.b.Under(before); under != nil {
			extra = append(extra, under.Acquire)
		}
		w.Cause = t.tellTaken(before, g)
	}
	sent := "no token"
	if token, known := o.Token.Get(); known {
		sent = fmt.Sprintf("its own token %d", token)
	}
	t.say(sentence{subject: g.Worker, mood: Wrong, op: r.Op, at: o.Return, text: fmt.Sprintf(
		"asked at %s %s, with %s, and was refused as stale at %s: but nobody had a newer grant, it had not given its own back, and %s.",
		seconds(o.Invoke), t.wanted(r.Op), sent, seconds(o.Return), promised(r.End))})
	t.finish(&w, extra)
	return w
}

// wanted is what an operation asked for.
func (t *teller) wanted(op int) string {
	o := &t.h.Ops[op]
	switch o.F {
	case histories.Write:
		return fmt.Sprintf("to write %s to %s", value(t.h, op), cut(o.Resource))
	case histories.Read:
		return "to read " + cut(o.Resource)
	}
	return "to open " + cut(o.Resource)
}

// takenBefore is the last operation that the resource accepted before, if it had the
// same token or a larger one; -1 if there is none.
func (t *teller) takenBefore(op int) int {
	o := &t.h.Ops[op]
	own, known := o.Token.Get()
	last, high := -1, own
	for i := range op {
		x := &t.h.Ops[i]
		if token, sent := x.Token.Get(); known && sent && x.F.OnResource() && x.Resource == o.Resource &&
			x.Type == histories.OK && x.Return <= o.Return && token >= high {
			last, high = i, token
		}
	}
	return last
}

// tellTaken tells of an operation with the same token or a larger one, and what that
// says of the cause: a token that an older grant had already passed was reset.
func (t *teller) tellTaken(op int, refused *model.Grant) histories.Cause {
	o, g := &t.h.Ops[op], t.b.Own(op)
	text := fmt.Sprintf("%s under token %d: accepted at %s.", t.did(op), o.Token.Or(0), seconds(o.Return))
	t.say(sentence{subject: o.Process, op: op, at: o.Return, text: text})
	if g != nil && g.Lock == refused.Lock && g.Return < refused.Invoke && o.Token.Or(0) > refused.Token.Or(0) && o.Token == g.Token {
		return histories.CauseReset
	}
	return histories.CauseUnknown
}
