package exact

import (
	"cmp"
	"slices"
	"sort"
)

// together judges the pairs for which no order is known: both orders must break a
// promise. A grant counts once, whatever the number of its rivals.
func (j *exclusion) together(lock *lockHolds) {
	var open []*hold
	for _, g := range lock.holds { // by invocation
		if !j.spend(1 + len(open)) {
			return
		}
		open = slices.DeleteFunc(open, func(a *hold) bool { return a.Return < g.Invoke })
		rival := false
		for _, a := range open {
			if a.Worker == g.Worker || a.shared && g.shared {
				continue
			}
			rival = true
			if !g.broken {
				j.unordered(a, g)
			}
		}
		if rival && !g.judged {
			j.Checked++
		}
		open = append(open, g)
	}
}

func (j *exclusion) unordered(a, g *hold) {
	if first, broken := j.ifFirst(a, g); broken {
		if second, also := j.ifFirst(g, a); also {
			g.broken = true
			j.breach(first, second)
		}
	}
}

// ifFirst: if a was granted before g, is a promise broken?
func (j *exclusion) ifFirst(a, g *hold) (Proof, bool) {
	if p := a.standing(g.Return); p != nil {
		return proofOf(a, g, p, g.Acquire), true
	}
	from := sort.Search(len(a.promises), func(k int) bool { return a.promises[k].invoke > g.Return })
	last := g.promises[g.best[len(g.best)-1]].until()
	for k := max(1, from); k < len(a.promises) && a.promises[k].invoke < last && j.spend(1); k++ {
		r := &a.promises[k]
		if p := g.known(r.invoke); p != nil && p.until() > r.answer && r.accuses() {
			return proofOf(a, g, p, r.op), true
		}
	}
	return Proof{}, false
}

// standing is the promise that stands at t and for the longest time, nil if none does.
func (h *hold) standing(t int64) *promise {
	begun := sort.Search(len(h.promises), func(k int) bool { return h.promises[k].invoke > t })
	if begun == 0 {
		return nil
	}
	if p := &h.promises[h.best[begun-1]]; p.until() > t {
		return p
	}
	return nil
}

// known is the promise that stands for the longest time of those answered by t, nil
// if none was.
func (h *hold) known(t int64) *promise {
	if h.answered == nil {
		h.answered = h.byAnswer()
	}
	n := sort.Search(len(h.answered), func(k int) bool { return h.answered[k].at > t })
	if n == 0 {
		return nil
	}
	return &h.promises[h.answered[n-1].best]
}

// answered is an answer, and which of the promises answered by then stands longest.
type answered struct {
	at   int64
	best int // place in hold.promises
}

func (h *hold) byAnswer() []answered {
	list := make([]answered, len(h.promises))
	for k := range h.promises {
		list[k] = answered{h.promises[k].answer, k}
	}
	slices.SortStableFunc(list, func(a, b answered) int { return cmp.Compare(a.at, b.at) })
	for k := 1; k < len(list); k++ {
		if before := list[k-1].best; h.promises[before].until() >= h.promises[list[k].best].until() {
			list[k].best = before
		}
	}
	return list
}
