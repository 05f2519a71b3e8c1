package exact

import (
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
		rival, counted := false, j.cases[g.place] != noCase
		for _, a := range open {
			if a.Worker == g.Worker || a.shared && g.shared {
				continue
			}
			rival = true
			if j.cases[g.place] != broken {
				j.unordered(a, g)
			}
		}
		if rival && !counted {
			j.Checked++
		}
		open = append(open, g)
	}
}

func (j *exclusion) unordered(a, g *hold) {
	if first, ok := j.ifFirst(a, g); ok {
		if second, also := j.ifFirst(g, a); also {
			j.cases[g.place] = broken
			j.breach(first, second)
		}
	}
}

// ifFirst: if a was granted before g, was a promise broken? It has the proof.
func (c *pace) ifFirst(a, g *hold) (Proof, bool) {
	if p := a.standing(g.Return); p != nil {
		return proofOf(a, g, p, g.Acquire), true
	}
	from := sort.Search(len(a.promises), func(k int) bool { return a.promises[k].invoke > g.Return })
	last := g.promises[g.best[len(g.best)-1]].until()
	for k := max(1, from); k < len(a.promises) && a.promises[k].invoke < last && c.spend(1); k++ {
		r := &a.promises[k]
		if p := g.answered(r.invoke); p != nil && p.until() > r.answer && r.accuses() {
			return proofOf(a, g, p, r.op), true
		}
	}
	return Proof{}, false
}
