package exact

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// stay is a time in which a worker was a live holder of a lock, or may have been.
type stay struct {
	from   int64
	said   int64 // until when it was, by what the history says; from if it says nothing
	until  int64 // until when it may have been
	worker string
	grant  *model.Grant // nil: none that its worker knew of
	left   int          // the operation that ended it: place in History.Ops; -1 if the lease ran out
	doubt  doubt        // why until is later than said
}

// doubt says why a worker may have been a live holder for longer than the history says.
type doubt int

const (
	noDoubt      doubt = iota
	lateAnswer         // the store may have counted the lease from later than the invocation
	maybeRenewed       // a renewal has no answer
	neverRenewed       // no renewal is on record at all, and its release found the lease alive
	maybeGranted       // an acquire has no answer
	asleep             // it was granted the lock, but could not read that
	unheard            // its release may not have left it
	stillHolding       // it gave one of several holds back, and went on under the others
)

// clause says it of a worker, whose name is still to be put in.
func (d doubt) clause() string {
	switch d {
	case maybeRenewed:
		return "a renewal of worker %.40q has no answer"
	case neverRenewed:
		return "the release of worker %.40q was answered ok after its lease had run out, and no renewal is on record: renewals may be missing"
	case maybeGranted:
		return "an acquire of worker %.40q has no answer"
	case asleep:
		return "worker %.40q was stopped or cut off while it asked for the lock"
	case unheard:
		return "worker %.40q was stopped or cut off while it released the lock"
	case stillHolding:
		return "worker %.40q went on under the holds that it had left"
	}
	return "the store may have counted the lease of worker %.40q from a later moment than that of the request"
}

// parting is how a worker stopped to be a live holder under a grant.
type parting struct {
	said  int64 // by what the history says; histories.Never: it did not
	op    int   // what it did, or what was done to it: place in History.Ops; -1: nothing
	until int64 // until when it may have held on
	doubt doubt

	renewed bool // a renewal of the grant is on record, whatever came of it
}

// stays are the stays of one lock.
func (l *lockLog) stays() []stay {
	var list []stay
	for _, d := range l.doers {
		for i, h := range d.own {
			list = append(list, l.staysOf(d, h, d.parts[i])...)
		}
		for _, s := range d.hidden {
			s.until = min(s.until, l.troubles.death(s.worker, s.from).at)
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b stay) int { return cmp.Compare(a.from, b.from) })
	return list
}

// staysOf are the stays under one grant: one for each promise, one for each renewal
// without an answer, and what nobody wrote down.
func (l *lockLog) staysOf(d *doer, h *hold, p parting) []stay {
	death := l.troubles.death(h.Worker, h.Return)
	if death.at <= p.said {
		p.said, p.op = death.at, death.op
	}
	p.until = min(p.until, death.at)
	var list []stay
	lapse, maybe := int64(math.MinInt64), d.unanswered[h.index]
	for k := range h.promises {
		promise := &h.promises[k]
		for ; len(maybe) > 0 && maybe[0].op < promise.op; maybe = maybe[1:] {
			list, lapse = append(list, maybe[0].stay(h, p, lapse)), maybe[0].lapse(lapse)
		}
		s, over := stayOf(h, promise, p)
		list, lapse = append(list, s), max(lapse, over)
	}
	for _, r := range maybe {
		list, lapse = append(list, r.stay(h, p, lapse)), r.lapse(lapse)
	}
	l.left[h] = slices.MaxFunc(list, func(a, b stay) int { return cmp.Compare(a.until, b.until) }).left
	return append(list, l.unseen(h, p, lapse)...)
}

// stayOf is the stay under one promise, and when its lease was certainly over.
func stayOf(h *hold, promise *promise, p parting) (s stay, lapse int64) {
	s = stay{from: max(promise.invoke, h.Return), said: promise.end, worker: h.Worker, grant: h.Grant, left: -1, doubt: lateAnswer}
	if lapse = promise.end; lapse != histories.Never {
		lapse += promise.answer - promise.invoke
	}
	// A line that began before the answer may have been there before the promise was.
	if line := h.lineFrom(promise.answer); line != nil && line.to < lapse {
		lapse, s.said, s.left = line.to, min(s.said, line.to), line.op
	}
	s.until = lapse
	s.leave(p)
	return s, lapse
}

// leave cuts a stay off where its worker left.
func (s *stay) leave(p parting) {
	if p.said <= s.said || p.until <= s.until {
		s.left = p.op
	}
	if p.until <= s.until {
		if s.until = p.until; p.doubt != noDoubt {
			s.doubt = p.doubt
		}
	}
	s.said = max(s.from, min(s.said, p.said))
	s.until = max(s.from, s.until)
}

// lineFrom is the first end line of the grant's own that began at or after t.
func (h *hold) lineFrom(t int64) *endLine {
	for k := sort.Search(len(h.lines), func(k int) bool { return h.lines[k].to >= t }); k < len(h.lines); k++ {
		if h.lines[k].from >= t {
			return &h.lines[k]
		}
	}
	return nil
}

// openRenewal is a renewal without an answer. It may have kept the lease alive for one
// more ttl: from its invocation on, or from when the lease would have run out.
type openRenewal struct {
	op          int // place in History.Ops
	invoke, ttl int64
}

func (r openRenewal) lapse(before int64) int64 {
	if r.ttl == 0 {
		return histories.Never
	}
	return max(before, r.invoke) + r.ttl
}

func (r openRenewal) stay(h *hold, p parting, lapse int64) stay {
	from := max(r.invoke, h.Return)
	s := stay{from: from, said: from, until: r.lapse(lapse), worker: h.Worker, grant: h.Grant, left: -1, doubt: maybeRenewed}
	s.leave(p)
	return s
}

// unseen are the times in which a grant may have been renewed although nobody wrote it
// down: some clients keep a session alive by means that can't be observed. It is
// believed only of a grant without any renewal on record, if its release was answered ok
// after its lease had run out; and of no worker that stood still.
func (l *lockLog) unseen(h *hold, p parting, lapse int64) []stay {
	if p.renewed || p.op < 0 || lapse >= p.said || lapse == histories.Never {
		return nil
	}
	if o := &l.book.History.Ops[p.op]; o.F != histories.Release || o.Type != histories.OK {
		return nil
	}
	var list []stay
	ttl := h.promises[0].end - h.promises[0].invoke
	add := func(from, until int64) {
		if from < until {
			list = append(list, stay{from: from, said: from, until: until, worker: h.Worker, left: -1, doubt: neverRenewed})
		}
	}
	stops := l.book.StopsOf(h.Worker)
	for k := sort.Search(len(stops), func(k int) bool { return stops[k].To > lapse }); k < len(stops) && stops[k].From < p.said; k++ {
		add(lapse, min(stops[k].From+ttl, stops[k].To, p.said))
		lapse = max(lapse, stops[k].To)
	}
	add(lapse, p.said)
	return list
}
