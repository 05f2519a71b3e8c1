package exact

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// span is a time in which something took effect, at one moment of it.
type span struct{ from, to int64 }

// spanOf: an operation without a definite answer may take effect at any later time.
func spanOf(o *histories.Operation) span {
	if o.Type == histories.Info {
		return span{o.Invoke, histories.Never}
	}
	return span{o.Invoke, o.Return}
}

// ends are what may have ended a lease, by the end of their spans; from is the
// earliest beginning of a span and of all that come after it.
type ends []span

func newEnds(list []span) ends {
	if len(list) == 0 {
		return nil
	}
	e := ends(slices.Clone(list))
	slices.SortFunc(e, func(a, b span) int { return cmp.Compare(a.to, b.to) })
	for i := len(e) - 2; i >= 0; i-- {
		e[i].from = min(e[i].from, e[i+1].from)
	}
	return e
}

// after is the earliest beginning of a span that was not over before start:
// whatever began then may have been ended from that time on.
func (e ends) after(start int64) int64 {
	i := sort.Search(len(e), func(k int) bool { return e[k].to >= start })
	if i == len(e) {
		return histories.Never
	}
	return e[i].from
}

// release is a release that was not refused.
type release struct {
	span
	op    int // place in History.Ops
	hold  *hold
	ok    bool
	keeps bool // count= says that holds are left
}

// settleNamed: a release ends the grant that it names. The releases of the grant are
// in line order, in which a worker's releases do not overlap.
func settleNamed(h *hold, named []release) {
	oks := named
	spans := make([]span, 0, len(named))
	for _, r := range named {
		spans = append(spans, r.span)
	}
	if slices.ContainsFunc(named, func(r release) bool { return !r.ok }) {
		oks = slices.DeleteFunc(slices.Clone(named), func(r release) bool { return !r.ok })
	}
	released := newEnds(spans)
	for k := range h.promises {
		p := &h.promises[k]
		p.freed = released.after(p.invoke)
		if first := sort.Search(len(oks), func(i int) bool { return oks[i].to >= p.invoke }); first < len(oks) {
			p.gone = oks[first].op
		}
	}
}

// settleNested: an ok release that leaves no hold ends all grants nested with the
// one that it names, if they were asked for before it. The releases are in line
// order, in which a worker's releases do not overlap.
func settleNested(own []*hold, all []release) {
	list := nestedPromises(own)
	if len(list) == 0 {
		return
	}
	var log []release
	for _, r := range all {
		if r.ok && !r.keeps {
			log = append(log, r)
		}
	}
	// By place in log: the promises that no earlier release can have ended.
	waiting := make([][]nestedPromise, len(log))
	for _, n := range list {
		first := sort.Search(len(log), func(k int) bool { return log[k].op > n.acquire && log[k].to >= n.invoke })
		if first < len(log) {
			waiting[first] = append(waiting[first], n)
		}
	}
	next := newLeast(len(own)) // by grant: the next release in log that names it
	for k := len(log) - 1; k >= 0; k-- {
		next.set(log[k].hold.index, k)
		for _, n := range waiting[k] {
			first := next.least(n.from, n.to)
			if first == none {
				continue
			}
			n.freed = min(n.freed, log[first].from)
			if n.gone < 0 || log[first].op < n.gone {
				n.gone = log[first].op
			}
		}
	}
}

// nestedPromise is a promise, and the places of the grants nested with its own.
type nestedPromise struct {
	*promise
	acquire  int
	from, to int
}

// nestedPromises lists the promises to grants that are nested with another one.
func nestedPromises(own []*hold) []nestedPromise {
	var list []nestedPromise
	from, to := 0, 0
	for i, h := range own {
		for !nested(own[from], h) {
			from++
		}
		for to < len(own) && (to <= i || nested(h, own[to])) {
			to++
		}
		for k := range h.promises {
			if to-from > 1 {
				list = append(list, nestedPromise{promise: &h.promises[k], acquire: h.Acquire, from: from, to: to})
			}
		}
	}
	return list
}

// none is more than any place in a list.
const none = int(^uint(0) >> 1)

// least is a tree over places that answers: the smallest value in a range.
type least struct {
	size int
	tree []int
}

func newLeast(size int) *least {
	l := &least{size: size, tree: make([]int, 2*size)}
	for i := range l.tree {
		l.tree[i] = none
	}
	return l
}

// set expects a value not larger than the one before.
func (l *least) set(at, value int) {
	for node := l.size + at; node > 0; node /= 2 {
		l.tree[node] = min(l.tree[node], value)
	}
}

func (l *least) least(from, to int) int {
	best := none
	for lo, hi := l.size+from, l.size+to; lo < hi; lo, hi = lo/2, hi/2 {
		if lo%2 == 1 {
			best = min(best, l.tree[lo])
			lo++
		}
		if hi%2 == 1 {
			hi--
			best = min(best, l.tree[hi])
		}
	}
	return best
}

func nested(a, g *hold) bool { return a == g || model.Nested(a.Grant, g.Grant) }
