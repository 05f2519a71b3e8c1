package witness

import (
	"fmt"
	"strconv"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// Progress tells of a lock that did not pass on: who had it last and how that ended, who
// waited, and for how long.
func Progress(l *exact.Ledger, s exact.Stall) Witness {
	t := &teller{b: l.Book(), h: l.Book().History}
	w := Witness{Lock: s.Lock, Stale: s.Final, Core: sorted(s.First, s.Final)}
	waited := show.Seconds(s.To - s.From)
	w.Title = fmt.Sprintf("worker %s waited %s for the lock %s, which nobody alive held", cut(s.Worker), waited, cut(s.Lock))
	if s.Last != nil {
		w.Core = append(w.Core, s.Last.Acquire)
		t.tellGrant(s.Last, nil)
		t.tellRenewals(&s)
	}
	if s.Left >= 0 && s.Leaver != s.Last {
		w.Core = append(w.Core, s.Leaver.Acquire)
		t.tellGrant(s.Leaver, nil)
	}
	for _, i := range sorted(s.Parted, s.Left) {
		if i >= 0 && t.h.Ops[i].Invoke < s.To {
			w.Core = append(w.Core, i)
			t.tellLeft(i)
		}
	}
	t.tellWaiting(&s)
	if s.Next != nil {
		w.Core = append(w.Core, s.Next.Acquire)
		t.tellGrant(s.Next, nil)
	}
	t.tellStalled(&s, waited)
	w.Core = sorted(w.Core...)
	t.finish(&w, closeUpLock(l, s.Lock, w.Core, MaxWatched))
	w.Histories = t.untilEnd(w.Ops)
	return w
}

// untilEnd is the sub-history, closed where the whole one is: that a worker waits for so
// long is known from that alone.
func (t *teller) untilEnd(ops []int) string {
	text := subHistory(t.b, ops)
	if text == "" {
		return ""
	}
	return text + strconv.FormatFloat(float64(exact.EndOf(t.h))/1e6, 'f', -1, 64) + " end\n"
}

// tellLeft tells how a live holder ceased to be one.
func (t *teller) tellLeft(i int) {
	o := &t.h.Ops[i]
	one := sentence{subject: o.Process, op: i, at: o.Invoke}
	switch {
	case o.Process == histories.Nemesis:
		one.subject, one.text = o.Target, fmt.Sprintf("was killed at %s.", seconds(o.Return))
	case o.Process == histories.Store:
		one.subject, one.possessive = o.Target, true
		one.text = fmt.Sprintf("lease was ended by the store at %s.", seconds(o.Return))
	case o.F == histories.Lost:
		one.text = fmt.Sprintf("was told at %s that its lease is lost.", seconds(o.Invoke))
	case o.F == histories.Check:
		one.text = fmt.Sprintf("was told at %s that it does not hold the lock.", seconds(o.Return))
	default:
		one.text = fmt.Sprintf("asked at %s to release the lock, and %s.", seconds(o.Invoke), answered(o))
	}
	t.say(one)
}

// tellRenewals tells that the lease was kept alive although its worker had left.
func (t *teller) tellRenewals(s *exact.Stall) {
	n, last := 0, -1
	for i := range t.h.Ops {
		o := &t.h.Ops[i]
		if o.F == histories.Renew && o.Type == histories.OK && o.Invoke >= s.From && o.Return <= s.To && t.b.Own(i) == s.Last {
			n, last = n+1, i
		}
	}
	if n > 0 {
		o := &t.h.Ops[last]
		t.say(sentence{subject: s.Last.Worker, possessive: true, op: last, at: o.Return,
			text: fmt.Sprintf("lease was renewed all the same: %s, the last one at %s.", show.Count(n, "renewal"), seconds(o.Return))})
	}
}

func answered(o *histories.Operation) string {
	switch o.Type {
	case histories.OK:
		if n := o.HoldsLeft.Or(0); n > 0 {
			return fmt.Sprintf("was answered that %s left", show.Count(int(n), "hold"))
		}
		return "was answered ok"
	case histories.Fail:
		return "was refused"
	}
	return "had no answer"
}

// tellWaiting tells of the acquires of the worker that waited.
func (t *teller) tellWaiting(s *exact.Stall) {
	o := &t.h.Ops[s.First]
	one := sentence{subject: s.Worker, op: s.First, at: o.Invoke}
	switch {
	case s.Refused > 0:
		last := &t.h.Ops[s.Final]
		one.text = fmt.Sprintf("asked for the lock at %s, and was refused %s until %s.", seconds(o.Invoke), show.Count(s.Refused, "time"), seconds(last.Return))
	case o.Type == histories.Info:
		one.text = fmt.Sprintf("asked for the lock at %s, and still waited at %s.", seconds(o.Invoke), seconds(s.To))
	case o.Type == histories.Fail:
		one.text = fmt.Sprintf("asked for the lock at %s, and was refused at %s.", seconds(o.Invoke), seconds(o.Return))
	default:
		one.text = fmt.Sprintf("asked for the lock at %s, and was answered at %s.", seconds(o.Invoke), seconds(o.Return))
	}
	t.say(one)
}

func (t *teller) tellStalled(s *exact.Stall, waited string) {
	bound := fmt.Sprintf("%s, twice the lease of the last grant", show.Seconds(s.Bound))
	if s.Last == nil || t.h.Ops[s.Last.Acquire].EffectiveTTL() == 0 {
		bound = fmt.Sprintf("%s for a lock without a time to live", show.Seconds(s.Bound))
	}
	end := "the history ends"
	if s.To < exact.EndOf(t.h) {
		end = seconds(s.To)
	}
	t.say(sentence{mood: Wrong, op: s.Final, at: s.To, text: fmt.Sprintf(
		"From %s until %s, for %s, nobody alive held the lock, worker %s waited for it, and nobody was granted it. The bound is %s.",
		seconds(s.From), end, waited, cut(s.Worker), bound)})
}
