package witness

import (
	"fmt"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/histories"
)

// Belief tells of an answer about a lease that was not true: what the worker was told,
// and how long it had been otherwise, or would not have been so.
func Belief(l *exact.Ledger, u exact.Untruth) Witness {
	t := &teller{b: l.Book(), h: l.Book().History}
	w := Witness{Lock: t.b.Lock(u.Op), Stale: u.Op}
	if u.Grant == nil {
		w.Title = t.tellNeverHeld(&u)
		w.Core = sorted(u.By, u.Op)
		t.finish(&w, slices.Concat(closeUp(l, w.Core), t.asked(&u)))
		return w
	}
	g := u.Grant
	w.Core = []int{g.Acquire, u.Promise, u.Op}
	p := &exact.Proof{Promise: u.Promise, End: u.End}
	t.tellGrant(g, p)
	t.tellPromise(g, p)
	if u.Held {
		w.Core = append(w.Core, u.By)
		w.Title, w.Cause = t.tellHeld(&u)
	} else {
		w.Title = t.tellLost(&u)
	}
	w.Core = sorted(w.Core...)
	t.finish(&w, closeUp(l, w.Core))
	return w
}

// asked are the acquires of a worker that was refused each time.
func (t *teller) asked(u *exact.Untruth) []int {
	const most = 20
	var list []int
	check := &t.h.Ops[u.Op]
	for i := u.By; i >= 0 && len(list) < most; i-- {
		if o := &t.h.Ops[i]; o.F == histories.Acquire && o.Process == check.Process && o.Lock == check.Lock {
			list = append(list, i)
		}
	}
	return list
}

func (t *teller) tellNeverHeld(u *exact.Untruth) string {
	asked, o := &t.h.Ops[u.By], &t.h.Ops[u.Op]
	text := fmt.Sprintf("asked for the lock %s at %s, and was refused.", cut(o.Lock), seconds(asked.Invoke))
	t.say(sentence{subject: o.Process, op: u.By, at: asked.Invoke, text: text})
	t.say(sentence{subject: o.Process, mood: Wrong, op: u.Op, at: o.Return,
		text: fmt.Sprintf("was told at %s that it held the lock, which it had never been granted.", seconds(o.Return))})
	return fmt.Sprintf("worker %s was told that it held the lock %s, and had never been granted it", cut(o.Process), cut(o.Lock))
}

// tellHeld tells how the lease had ended.
func (t *teller) tellHeld(u *exact.Untruth) (title string, cause histories.Cause) {
	g, by, o := u.Grant, &t.h.Ops[u.By], &t.h.Ops[u.Op]
	stop := t.asleep(g.Worker, by.Return, o.Invoke, o.Return)
	if stop != nil {
		cause = histories.CausePaused
	}
	t.tellStop(stop)
	ended := "its lease had ended"
	switch {
	case by.F == histories.Release:
		t.say(sentence{subject: g.Worker, op: u.By, at: by.Return, text: fmt.Sprintf("released the lock at %s, and was answered ok.", seconds(by.Return))})
		ended, cause = "it had released it", histories.CauseUnknown
	case by.ByWorker():
		t.tellGrant(t.b.Own(u.By), nil)
		ended = fmt.Sprintf("the lock had passed on to worker %s", cut(by.Process))
	default:
		t.tellLine(g, u.By, true)
	}
	ago := millis(o.Invoke - by.Return)
	t.say(sentence{subject: g.Worker, mood: Wrong, op: u.Op, at: o.Return,
		text: fmt.Sprintf("was told at %s that it held the lock; %s %s before it asked.", seconds(o.Return), ended, ago)})
	return fmt.Sprintf("worker %s was told that it held the lock %s, %s after %s", cut(g.Worker), cut(g.Lock), ago, ended), cause
}

// tellLost tells how early the worker was told.
func (t *teller) tellLost(u *exact.Untruth) string {
	g, o := u.Grant, &t.h.Ops[u.Op]
	if i := t.setback(u); i >= 0 {
		s := &t.h.Ops[i]
		answer := "had no answer"
		if s.Type == histories.Fail {
			answer = "was refused"
		}
		what := "renew its lease"
		if s.F == histories.Release {
			what = "release the lock"
		}
		t.say(sentence{subject: g.Worker, op: i, at: s.Invoke, text: fmt.Sprintf("asked at %s to %s, and %s.", seconds(s.Invoke), what, answer)})
	}
	lock := cut(g.Lock)
	told, of := "that its lease was lost", fmt.Sprintf("that its lease of the lock %s was lost", lock)
	if o.F == histories.Check {
		told, of = "that it did not hold the lock", fmt.Sprintf("that it did not hold the lock %s", lock)
	}
	early := "although it was promised the lock until it released it"
	if u.End != histories.Never {
		early = fmt.Sprintf("%s before the end of the promise", millis(u.End-o.Return))
	}
	t.say(sentence{subject: g.Worker, mood: Wrong, op: u.Op, at: o.Return,
		text: fmt.Sprintf("was told at %s %s, %s, and nothing is on record that had ended it. A cautious client does that, too.", seconds(o.Return), told, early)})
	return fmt.Sprintf("worker %s was told %s, %s", cut(g.Worker), of, early)
}

// setback is the last renewal or release of the grant that was refused or had no answer,
// since the promise was given and before the worker was told; -1 if there is none.
func (t *teller) setback(u *exact.Untruth) int {
	for i := u.Op - 1; i > u.Promise; i-- {
		o := &t.h.Ops[i]
		if t.b.Own(i) == u.Grant && o.Type != histories.OK && (o.F == histories.Renew || o.F == histories.Release) {
			return i
		}
	}
	return -1
}
