package model

import (
	"cmp"
	"context"
	"slices"
)

// DecideByNumber tries the one order that the resource itself names: its numbered
// operations by number, and the others where they are likely to have been. Whether
// the order keeps the rules of a question is for [Resource.Confirm] to say: if it
// does, that is a proof, if not, it says nothing. It is Undecided if the resource did
// not number its writes.
func (r *Resource) DecideByNumber(ctx context.Context) Decision {
	for i := range r.ops {
		if o := &r.ops[i]; o.Write && o.Acked && !o.Numbered {
			return Decision{}
		}
	}
	t := &task{spec: &spec{ops: r.ops}, work: work{ctx: ctx}, r: r}
	t.reads, t.sources = r.readers()
	for i := range r.ops {
		// Which of several writes of one value a read saw is anybody's guess.
		if o := &r.ops[i]; o.Acked || len(t.reads[o.Value]) > 0 && t.sources[o.Value] == 1 {
			t.in = append(t.in, int32(i))
		}
	}
	return Decision{Answer: Legal, Order: newGuess(t).order()}
}

// guess places operations among the numbered ones.
type guess struct {
	*task
	sorted  []int32 // the numbered operations
	others  []int32
	place   []place // by operation
	written []int32 // by value: the place of its numbered write; 0: not exactly one
}

// place is right before a numbered operation, at it, or after it. What is behind one
// numbered operation stands by its invocation.
type place struct {
	number int32 // how many numbered operations are before it or are itself
	side   int8  // -1 before it, 0 itself, 1 after it
	turn   int   // among those after it
}

func newGuess(t *task) *guess {
	g := &guess{task: t, place: make([]place, len(t.ops)), written: make([]int32, t.r.NumberOfValues())}
	groups := t.group()
	g.number(groups)
	if g.someAnswered() {
		bounds := newBounds(t, groups)
		for _, i := range g.others {
			if t.ops[i].Acked {
				g.between(i, groups, bounds)
			}
		}
	}
	for _, i := range g.others {
		if !t.ops[i].Acked {
			g.beforeItsRead(i)
		}
	}
	return g
}

// number places the operations that have a number; those that share one by the order
// of their grants.
func (g *guess) number(groups *groups) {
	g.sorted = make([]int32, 0, len(g.in))
	for _, members := range groups.members {
		if len(members) > 1 {
			slices.SortStableFunc(members, func(a, b int32) int { return compareGrants(g.ops[a].Grant, g.ops[b].Grant) })
		}
		for _, i := range members {
			g.sorted = append(g.sorted, i)
			g.place[i] = place{number: int32(len(g.sorted))}
			if o := &g.ops[i]; o.Write && o.Value >= 0 && g.sources[o.Value] == 1 {
				g.written[o.Value] = int32(len(g.sorted))
			}
		}
	}
	for _, i := range g.in {
		if !g.ops[i].Numbered {
			g.others = append(g.others, i)
		}
	}
}

// someAnswered: unanswered writes need no bounds.
func (g *guess) someAnswered() bool {
	return slices.ContainsFunc(g.others, func(i int32) bool { return g.ops[i].Acked })
}

// between places an answered operation without a number: after all that it must
// follow, and a read not before the write of its value.
func (g *guess) between(i int32, groups *groups, bounds *bounds) {
	after, _ := bounds.of(i)
	p := place{side: 1, turn: 2 * int(i)}
	if after >= 0 {
		p.number = int32(groups.offset[after]) + int32(len(groups.members[after]))
	}
	if o := &g.ops[i]; o.Read && o.Value >= 0 {
		p.number = max(p.number, g.written[o.Value])
	}
	g.place[i] = p
}

// beforeItsRead places an unanswered write right before the first read of its value:
// the later, the less it can harm.
func (g *guess) beforeItsRead(i int32) {
	reads := g.reads[g.ops[i].Value]
	first := slices.MinFunc(reads, func(a, b int32) int { return comparePlaces(g.place[a], g.place[b]) })
	p := g.place[first]
	if p.side == 0 {
		p.side = -1
	} else {
		p.turn--
	}
	g.place[i] = p
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.side, b.side), cmp.Compare(a.turn, b.turn))
}

// order merges the others into the numbered ones.
func (g *guess) order() []int32 {
	slices.SortFunc(g.others, func(a, b int32) int {
		return cmp.Or(comparePlaces(g.place[a], g.place[b]), cmp.Compare(a, b))
	})
	order, others := make([]int32, 0, len(g.in)), g.others
	for _, i := range g.sorted {
		for len(others) > 0 && comparePlaces(g.place[others[0]], g.place[i]) < 0 {
			order, others = append(order, others[0]), others[1:]
		}
		order = append(order, i)
	}
	return append(order, others...)
}
