package exact

import "github.com/leasehold-checker/leasehold/histories"

// firstOf is the least number that was added, and the least one of another worker than
// that: so one worker can be left out.
type firstOf struct {
	least, second int64
	worker        string
}

func newFirst() firstOf { return firstOf{least: histories.Never, second: histories.Never} }

func (f *firstOf) add(worker string, n int64) {
	switch {
	case worker == f.worker:
		f.least = min(f.least, n)
	case n < f.least:
		f.least, f.second, f.worker = n, f.least, worker
	default:
		f.second = min(f.second, n)
	}
}

func (f *firstOf) but(worker string) int64 {
	if f.worker == worker {
		return f.second
	}
	return f.least
}

// rivals are the numbers of the grants that have been added; a grant in shared mode
// has only exclusive ones for rivals.
type rivals struct{ all, exclusive firstOf }

func newRivals() rivals { return rivals{newFirst(), newFirst()} }

func (r *rivals) add(h *hold, n int64) {
	r.all.add(h.Worker, n)
	if !h.shared {
		r.exclusive.add(h.Worker, n)
	}
}

func (r *rivals) first(asking *hold) int64 {
	if asking.shared {
		return r.exclusive.but(asking.Worker)
	}
	return r.all.but(asking.Worker)
}

// findRivals fills in what each grant knows of other workers' grants.
func (l *lockHolds) findRivals() {
	newer := newRivals()
	l.newToOld(func(h *hold) { newer.add(h, h.Return) }, func(h *hold) { h.next = newer.first(h) })
	notOlder := newRivals()
	add := func(h *hold) { notOlder.add(h, h.Invoke) }
	if l.byToken { // the order is total: what is not older is newer
		l.newToOld(add, func(h *hold) { h.rival = notOlder.first(h) })
		return
	}
	left := len(l.answers)
	for k := len(l.holds) - 1; k >= 0; k-- {
		h := l.holds[k]
		for ; left > 0 && l.answers[left-1].Return >= h.Invoke; left-- {
			add(l.answers[left-1])
		}
		h.rival = notOlder.first(h)
	}
}
