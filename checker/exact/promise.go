package exact

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// promise is an ok acquire or renewal: from its invocation on the store promised
// the lock. It stands at t if invoke <= t < until().
//
// It runs from the invocation, not from the answer: the store may have counted
// from the moment it was asked, and an answer that is read late would make the
// promise longer than it was.
type promise struct {
	op     int // place in History.Ops
	invoke int64
	answer int64
	end    int64 // invoke + ttl; histories.Never: no ttl, or none said
	freed  int64 // when its worker may have released it; histories.Never: it did not
	ended  int64 // when the store or the nemesis may have ended it, as far as that excuses
	gone   int   // the first release that certainly ended it, answered ok: place in History.Ops; -1: none
}

// until is the end of the promise for whatever reason. A promise that was over before
// it began (a release that is not answered may land at any later time) never stood.
func (p *promise) until() int64 {
	if end := min(p.end, p.freed, p.ended); end > p.invoke {
		return end
	}
	return math.MinInt64
}

// accuses tells whether a renewal that is answered ok says that its worker has the
// lock. While its own worker gives the lock up, it says only that the session is
// still alive: a client may delete its entry first and end the session after that,
// and goes on with its keepalive between the two.
func (p *promise) accuses() bool { return p.freed > p.answer }

// hold is a grant and what was promised to it.
type hold struct {
	*model.Grant
	party    *party
	index    int // among its worker's grants of the lock
	place    int // in the order of the lock's grants
	shared   bool
	ttl      int64     // ms, of the acquire; 0: none
	promises []promise // by invocation; the first one is the acquire
	best     []int     // by place in promises: which of those up to it stands longest
	answers  []int     // promises by their answers; nil if that is the order of invocation
	known    []int     // by place in answers: which of those up to it stands longest; nil likewise

	lines []endLine // the store's end lines that are held against it, by their ends
	// next is the earliest answer of another worker's grant that is certainly newer;
	// histories.Never if there is none. rival is the earliest invocation of another
	// worker's grant that is not certainly older. Two grants in shared mode are no
	// rivals.
	next, rival int64
}

func (h *hold) promise(i int, o *histories.Operation) {
	p := promise{op: i, invoke: o.Invoke, answer: o.Return, end: histories.Never, gone: -1}
	ttl := o.EffectiveTTL()
	if ttl == 0 {
		ttl = h.ttl
	}
	if ttl > 0 {
		p.end = o.Invoke + ttl*1_000_000
	}
	h.promises = append(h.promises, p)
}

// rank finds out which promise stands longest, of those made or answered so far.
func (h *hold) rank() {
	inOrder := true
	for k := range h.promises {
		h.best = append(h.best, h.longer(h.best, k))
		inOrder = inOrder && (k == 0 || h.promises[k].answer >= h.promises[k-1].answer)
	}
	if inOrder {
		return
	}
	h.answers = make([]int, len(h.promises))
	for k := range h.answers {
		h.answers[k] = k
	}
	slices.SortStableFunc(h.answers, func(a, b int) int { return cmp.Compare(h.promises[a].answer, h.promises[b].answer) })
	for _, k := range h.answers {
		h.known = append(h.known, h.longer(h.known, k))
	}
}

// longer is the place of the promise that stands longer: the last of the given places, or
// the next one; the former if they are equal.
func (h *hold) longer(best []int, next int) int {
	if n := len(best); n > 0 && h.promises[best[n-1]].until() >= h.promises[next].until() {
		return best[n-1]
	}
	return next
}

// begun is how many promises were asked for by t.
func (h *hold) begun(t int64) int {
	return sort.Search(len(h.promises), func(k int) bool { return h.promises[k].invoke > t })
}

// longestBegun is the promise that stands longest of those asked for by t, nil if none
// was. It may have been answered later than t (the store may have given it before), and
// it may be over.
func (h *hold) longestBegun(t int64) *promise {
	begun := h.begun(t)
	if begun == 0 {
		return nil
	}
	return &h.promises[h.best[begun-1]]
}

// standing is the promise that stands at t and for the longest time, nil if none does.
func (h *hold) standing(t int64) *promise {
	if p := h.longestBegun(t); p != nil && p.until() > t {
		return p
	}
	return nil
}

// answered is the promise that stands longest of those answered by t, nil if none was.
// It may be over: see promise.until.
func (h *hold) answered(t int64) *promise {
	if h.answers == nil {
		n := sort.Search(len(h.promises), func(k int) bool { return h.promises[k].answer > t })
		if n == 0 {
			return nil
		}
		return &h.promises[h.best[n-1]]
	}
	n := sort.Search(len(h.answers), func(k int) bool { return h.promises[h.answers[k]].answer > t })
	if n == 0 {
		return nil
	}
	return &h.promises[h.known[n-1]]
}
