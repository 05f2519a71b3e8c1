package exact

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// lockLog is what all workers did on one lock.
type lockLog struct {
	*Ledger
	name     string
	troubles *troubles
	end      int64 // of the history
	doers    []*doer
	byAnswer []*hold       // of those answered at one time, the one with the longest ttl comes last
	bounds   []int64       // by place in byAnswer: how long nobody may be granted the lock after it, ns
	acquires []int         // places in History.Ops
	left     map[*hold]int // by which operation its worker left a grant: place in History.Ops; -1: by none
}

// newLockLogs follows all workers on all locks, in one walk over the history.
func newLockLogs(l *Ledger) []*lockLog {
	r := &lockReader{Ledger: l, logs: map[string]*lockLog{}, doers: map[holder]*doer{}, troubles: findTroubles(l.book), end: EndOf(l.book.History)}
	for i := range l.book.History.Ops {
		o := &l.book.History.Ops[i]
		if !o.ByWorker() || o.F.OnResource() && !r.surplus { // most operations are on a resource
			continue
		}
		r.surplus = r.surplus || o.F == histories.Release && o.HoldsLeft.Or(0) > 0
		r.read(i, o)
	}
	var list []*lockLog
	for _, name := range slices.Sorted(maps.Keys(r.logs)) {
		log := r.logs[name]
		log.finish()
		list = append(list, log)
	}
	return list
}

type lockReader struct {
	*Ledger
	logs     map[string]*lockLog
	doers    map[holder]*doer
	troubles *troubles
	end      int64
	surplus  bool // a release left some holds: what is done on resources counts
}

func (r *lockReader) read(i int, o *histories.Operation) {
	who := holder{o.Process, LockOf(r.book, i)}
	log, d := r.logs[who.lock], r.doers[who]
	if log == nil {
		log = &lockLog{Ledger: r.Ledger, name: who.lock, troubles: r.troubles, end: r.end, left: map[*hold]int{}}
		r.logs[who.lock] = log
	}
	if d == nil {
		d = &doer{worker: o.Process, own: r.own[who], surplus: map[int]*surplus{}}
		r.doers[who] = d
		log.doers = append(log.doers, d)
	}
	if o.F == histories.Acquire {
		log.acquires = append(log.acquires, i)
	}
	log.follow(d, i, o)
}

// LockOf is the lock of an operation (place in History.Ops): that of its grant,
// whatever lock it names.
func LockOf(b *model.Book, op int) string {
	if g := b.Own(op); g != nil {
		return g.Lock
	}
	return b.Lock(op)
}

func (l *lockLog) finish() {
	for _, d := range l.doers {
		d.finish()
		l.byAnswer = append(l.byAnswer, d.own...)
	}
	slices.SortStableFunc(l.byAnswer, func(a, b *hold) int {
		if c := cmp.Compare(a.Return, b.Return); c != 0 {
			return c
		}
		return cmp.Compare(a.longestTTL(), b.longestTTL())
	})
	l.bounds = make([]int64, len(l.byAnswer))
	for i, h := range l.byAnswer {
		if l.bounds[i] = noTTLBound; h.longestTTL() != histories.Never {
			l.bounds[i] = 2 * h.longestTTL()
		}
	}
}

// EndOf is when the history ends: where it says so, else the last time in it; ns.
func EndOf(h *histories.History) int64 {
	last, known := h.Header.End.Get()
	if known {
		return last
	}
	for i := range h.Ops {
		o := &h.Ops[i]
		last = max(last, o.Invoke)
		if o.Return != histories.Never {
			last = max(last, o.Return)
		}
	}
	return last
}

// answeredAfter is the place of the first grant that was answered after t.
func answeredAfter(byAnswer []*hold, t int64) int {
	return sort.Search(len(byAnswer), func(k int) bool { return byAnswer[k].Return > t })
}

// vacancy is a time in which a lock had no live holder, nobody was granted it, and the
// nemesis broke nothing but workers. It goes on to the end of the history, or to a
// grant, or to where somebody may have had the lock.
type vacancy struct {
	from, to int64
	left     int          // what ended the last stay: place in History.Ops; -1 if nothing did
	leaver   *model.Grant // whose stay that was; nil if left is -1
}

// vacancies are what is left between the stays; until says how long each counts.
func (l *lockLog) vacancies(stays []stay, until func(*stay) int64) []vacancy {
	taken := make([]busy, 0, len(stays)+len(l.byAnswer)+len(l.troubles.store)+1)
	for i := range stays {
		if s := &stays[i]; until(s) > s.from {
			taken = append(taken, busy{s.from, until(s), s.left, s.grant})
		}
	}
	for _, h := range l.byAnswer {
		taken = append(taken, busy{h.Return, h.Return, -1, nil})
	}
	for _, s := range l.troubles.store {
		taken = append(taken, busy{s.from, s.to, -1, nil})
	}
	slices.SortStableFunc(taken, func(a, b busy) int { return cmp.Compare(a.from, b.from) })
	taken = append(taken, busy{l.end, l.end, -1, nil})
	var list []vacancy
	free := vacancy{from: math.MinInt64, left: -1}
	for _, b := range taken {
		if free.to = min(b.from, l.end); free.from < free.to {
			list = append(list, free)
		}
		if b.to > free.from || b.to == free.from && b.left >= 0 {
			free.from, free.left, free.leaver = b.to, b.left, b.grant
		}
	}
	return list
}

// busy is a time that is no vacancy, and what ended it: place in History.Ops, or -1.
type busy struct {
	from, to int64
	left     int
	grant    *model.Grant
}
