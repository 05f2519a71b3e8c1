package exact

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Progressed is what [Progress] found out.
type Progressed struct {
	// Checked counts the times in which somebody waited for a lock without a live holder,
	// and either somebody was granted it within the bound, or nobody was.
	Checked int
	Stalls  []Stall // the latter, by their beginnings
	// Doubt is the first one that would be a stall if nobody had the lock by more than
	// the history says. It is looked for only if there is no stall. Nil if there is none.
	Doubt *Stall
	// Margin is the least time, in ns, by which somebody was granted the lock before the
	// bound; absent if nobody was.
	Margin histories.Option[int64]
}

// Stall is a time in which a worker waited for a lock that nobody alive had, and nobody
// was granted it.
type Stall struct {
	Lock     string
	Worker   string // that waited longest
	From, To int64  // ns; nobody had the lock, and it waited
	Bound    int64  // ns; what would have been legal
	// First and Final are the acquires of the worker between which it waited; they are the
	// same if it waited for an answer. Places in History.Ops.
	First, Final int
	Refused      int          // acquires that were refused meanwhile, if there are several; else 0
	Last         *model.Grant // the last grant before it; nil if there was none
	Parted       int          // by what its worker gave that up, or lost it: place in History.Ops; -1: its lease ran out
	Left         int          // what ended the last live holder: like Parted
	Leaver       *model.Grant // who that was; nil if Left is -1
	Next         *model.Grant // who was granted the lock at last; nil if nobody was
	Why          string       // of a doubt: who may have had the lock, as a clause
}

// noTTLBound is the bound where the last grant had no ttl, or there was none.
const noTTLBound = int64(time.Minute)

// Progress judges whether a lock passes on: while a worker waits and there is no live
// holder, somebody must be granted it within two ttl of the last grant; if that had no
// ttl, or there was none, within a minute. A lock-delay is not on record and would have
// to be added.
//
// A live holder was granted the lock, was not killed, its lease stands, and it has
// neither invoked a release (whatever the answer) nor been told that the lease is lost.
// A waiting worker has an acquire open, or was refused twice at least without a grant
// or a trouble of its own between.
//
// All that the history does not say for certain is taken in the lock's favour:
//
//   - A lease runs out one ttl after the answer of the last acquire or renewal; a
//     renewal without an answer adds one ttl.
//   - An acquire that was given up without an answer may have been granted until its
//     worker releases the lock or is killed. So may that of a worker that is stopped,
//     killed or cut off while it asks, from then on; and such a worker waits no longer.
//   - The release of a worker that is stopped or cut off may leave it only later.
//   - While the nemesis breaks something that is no worker, nobody need be granted
//     anything, and afterwards the clock starts again.
//   - See surplus, and lockLog.unseen.
//
// Where the history ends before the bound has passed, nothing is judged.
func Progress(l *Ledger) Progressed {
	var all Progressed
	for _, lock := range newLockLogs(l) {
		one := lock.judge()
		all.Checked += one.Checked
		all.Stalls = append(all.Stalls, one.Stalls...)
		if m, known := one.Margin.Get(); known {
			all.Margin = histories.Some(min(all.Margin.Or(histories.Never), m))
		}
		if all.Doubt == nil || one.Doubt != nil && one.Doubt.From < all.Doubt.From {
			all.Doubt = one.Doubt
		}
	}
	slices.SortStableFunc(all.Stalls, func(a, b Stall) int { return cmp.Compare(a.From, b.From) })
	if len(all.Stalls) > 0 {
		all.Doubt = nil
	}
	return all
}

// judge judges one lock.
func (l *lockLog) judge() (p Progressed) {
	stays, waits := l.stays(), l.newWaits()
	for _, v := range l.vacancies(stays, func(s *stay) int64 { return s.until }) {
		s, atEnd := l.stall(&v, waits)
		switch {
		case s == nil:
		case s.To-s.From > s.Bound:
			p.Checked++
			p.Stalls = append(p.Stalls, *s)
		case atEnd && s.Next != nil && s.To > s.From:
			p.Checked++
			p.Margin = histories.Some(min(p.Margin.Or(histories.Never), s.Bound-(s.To-s.From)))
		}
	}
	if len(p.Stalls) > 0 {
		return p
	}
	for _, v := range l.vacancies(stays, func(s *stay) int64 { return s.said }) {
		if s, _ := l.stall(&v, waits); s != nil && s.To-s.From > s.Bound {
			s.Why = whyDoubtful(stays, s)
			p.Doubt = s
			return p
		}
	}
	return p
}

// stall is the longest waiting during a vacancy, nil if nobody waited; and whether
// somebody waited until its end.
func (l *lockLog) stall(v *vacancy, waits *waits) (s *Stall, atEnd bool) {
	w, atEnd := waits.during(v.from, v.to)
	if w == nil {
		return nil, false
	}
	s = &Stall{
		Lock: l.name, Worker: w.worker, From: w.from, To: w.to, First: w.first, Final: w.last, Refused: w.refusals,
		Parted: -1, Left: v.left, Leaver: v.leaver, Bound: noTTLBound,
	}
	if k := answeredAfter(l.byAnswer, v.from); k > 0 {
		last := l.byAnswer[k-1]
		s.Last, s.Parted, s.Bound = last.Grant, l.left[last], l.bounds[k-1]
	}
	if next := answeredAfter(l.byAnswer, v.to-1); next < len(l.byAnswer) && l.byAnswer[next].Return == v.to {
		s.Next = l.byAnswer[next].Grant
	}
	return s, atEnd
}

// longestTTL is the longest of a grant's promises, in ns; histories.Never without a ttl.
func (h *hold) longestTTL() int64 {
	ttl := int64(0)
	for k := range h.promises {
		p := &h.promises[k]
		if p.end == histories.Never {
			return histories.Never
		}
		ttl = max(ttl, p.end-p.invoke)
	}
	return ttl
}

// whyDoubtful names the first stay that the history does not speak of and that lies in
// a stall.
func whyDoubtful(stays []stay, s *Stall) string {
	for i := range stays {
		one := &stays[i]
		if one.until > max(one.said, s.From) && max(one.said, one.from) < s.To {
			return fmt.Sprintf(one.doubt.clause(), one.worker)
		}
	}
	return ""
}
