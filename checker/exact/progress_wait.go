package exact

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/histories"
)

// vigil is a time in which a worker certainly waited for a lock: its acquire was open,
// and it was in no trouble.
type vigil struct {
	from, to int64
	op       int // the acquire: place in History.Ops
	worker   string
}

// refused is an acquire that was answered with a no. A worker that was refused more
// than once waited between the first time and the last, unless something troubled it:
// then calm is another number.
type refused struct {
	vigil
	calm int
}

// waits are the vigils of one lock.
type waits struct {
	vigils  []vigil // by their beginning
	longest []int   // by place in vigils: which of those up to it ends last
	refused []refused
}

// newWaits expects all acquires of a lock, in the order of their invocations. One that
// was given up without an answer proves no waiting: it may have been granted. One that
// nobody had given up when the history ends does.
func (l *lockLog) newWaits() *waits {
	w := &waits{}
	for _, i := range l.acquires {
		o := &l.book.History.Ops[i]
		if o.Type == histories.Info && o.Return != histories.Never {
			continue
		}
		v := vigil{from: o.Invoke, to: min(o.Return, l.end), op: i, worker: o.Process}
		trouble, troubled := l.troubles.firstTrouble(o.Process, v.from, v.to)
		if troubled {
			v.to = min(v.to, trouble.from)
		} else if o.Type == histories.Fail {
			w.refused = append(w.refused, refused{v, l.troubles.before(o.Process, v.from)})
		}
		if v.from <= v.to {
			w.vigils = append(w.vigils, v)
		}
	}
	slices.SortStableFunc(w.refused, func(a, b refused) int { return cmp.Compare(a.to, b.to) })
	w.longest = make([]int, len(w.vigils))
	for k := range w.vigils {
		if w.longest[k] = k; k > 0 && w.vigils[w.longest[k-1]].to >= w.vigils[k].to {
			w.longest[k] = w.longest[k-1]
		}
	}
	return w
}

// wait is a worker's waiting during a vacancy.
type wait struct {
	worker      string
	from, to    int64
	first, last int // acquires: places in History.Ops
	refusals    int
}

// during finds who waited longest in a span of time, and whether somebody waited up to
// its end; nil if nobody did. Each vigil and refusal begins or ends in at most one of
// the vacancies of its lock: all calls together look at each once.
func (w *waits) during(from, to int64) (longest *wait, toTheEnd bool) {
	offer := func(v *wait) {
		if longest == nil || v.to-v.from > longest.to-longest.from {
			longest = v
		}
	}
	k := sort.Search(len(w.vigils), func(k int) bool { return w.vigils[k].from > from })
	if k > 0 {
		if v := &w.vigils[w.longest[k-1]]; v.to > from {
			toTheEnd = v.to >= to
			offer(&wait{v.worker, from, min(v.to, to), v.op, v.op, 0})
		}
	}
	for ; k < len(w.vigils) && w.vigils[k].from <= to; k++ {
		v := &w.vigils[k]
		toTheEnd = toTheEnd || v.to >= to
		offer(&wait{v.worker, v.from, min(v.to, to), v.op, v.op, 0})
	}
	w.refusals(from, to, offer)
	return longest, toTheEnd
}

// refusals offers the workers that were refused in a span of time, again and again.
func (w *waits) refusals(from, to int64, offer func(*wait)) {
	type who struct {
		worker string
		calm   int
	}
	var first map[who]*wait
	k := sort.Search(len(w.refused), func(k int) bool { return w.refused[k].to > from })
	for ; k < len(w.refused) && w.refused[k].to <= to; k++ {
		r := &w.refused[k]
		key := who{r.worker, r.calm}
		if first == nil {
			first = map[who]*wait{}
		}
		f := first[key]
		if f == nil {
			first[key] = &wait{r.worker, max(from, r.from), r.to, r.op, r.op, 1}
			continue
		}
		f.to, f.last, f.refusals = r.to, r.op, f.refusals+1
		offer(f)
	}
}
