package exact

import (
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// seat is a grant's place in the graph: its counted operations lie between the
// nodes in and out.
type seat struct {
	grant  *model.Grant
	worker int32
	model.Neighbours
	in, out int32
}

// addHolds: without usable tokens, what is parted from a grant and newer are the
// grants of other workers from one place in the lock's order on, and those of its own
// worker from another place on, but for grants with its own token.
func addHolds(g *graph, list []counted) {
	seats := seatsOf(g, list)
	suffixesBut(g, seats, func(t *seat) int { return t.Newer }, func(t *seat) (int64, bool) { return int64(t.worker), true })
	own := map[int32][]*seat{}
	for _, t := range seats {
		own[t.worker] = append(own[t.worker], t)
	}
	for _, t := range seats { // in a certain order, so that the graph is always the same
		if mine := own[t.worker]; mine[0] == t {
			suffixesBut(g, mine, func(t *seat) int { return t.Nested }, func(t *seat) (int64, bool) { return t.grant.Token.Get() })
		}
	}
}

// seatsOf gives every grant a seat; they come out in the lock's order.
func seatsOf(g *graph, list []counted) []*seat {
	var seats []*seat
	of := map[*model.Grant]*seat{}
	for i := range list {
		c := &list[i]
		t := of[c.grant]
		if t == nil {
			t = &seat{grant: c.grant, worker: c.worker, Neighbours: c.Neighbours, in: g.node(), out: g.node()}
			of[c.grant] = t
			seats = append(seats, t)
		}
		g.edge(t.in, c.node)
		g.edge(c.node, t.out)
	}
	slices.SortFunc(seats, func(a, b *seat) int { return a.Pos - b.Pos })
	return seats
}

// suffixesBut puts every seat before those from place bound on, but for its kin. A
// tree over the list carries intervals, and one node a seat carries what follows it
// but for its later kin: so there are O(log n) edges a seat.
func suffixesBut(g *graph, list []*seat, bound func(*seat) int, kin func(*seat) (int64, bool)) {
	m := len(list)
	if m < 2 {
		return
	}
	tree := newSeatTree(g, list)
	families := map[int64][]int{} // places, ascending
	for i, t := range list {
		if k, known := kin(t); known {
			families[k] = append(families[k], i)
		}
	}
	nextKin := func(t *seat, from int) int { // the first of its kin from a place on, else m
		k, known := kin(t)
		if !known {
			return m
		}
		family := families[k]
		if j, _ := slices.BinarySearch(family, from); j < len(family) {
			return family[j]
		}
		return m
	}
	after := make([]int32, m)
	for i := m - 1; i > 0; i-- {
		after[i] = g.node()
		end := nextKin(list[i], i+1)
		if end < m {
			g.edge(after[i], after[end])
		}
		tree.feed(g, after[i], i+1, end)
	}
	for _, t := range list {
		from, _ := slices.BinarySearchFunc(list, bound(t), func(t *seat, pos int) int { return t.Pos - pos })
		end := nextKin(t, from)
		if end < m {
			g.edge(t.out, after[end])
		}
		tree.feed(g, t.out, from, end)
	}
}

// seatTree is a segment tree: node first+k stands for the nodes first+2k and
// first+2k+1 below it, and node first+size+i for seat i.
type seatTree struct{ first, size int32 }

func newSeatTree(g *graph, list []*seat) seatTree {
	t := seatTree{first: g.nodes, size: int32(len(list))}
	g.nodes += 2 * t.size
	for k := int32(2); k < 2*t.size; k++ {
		g.edge(t.first+k/2, t.first+k)
	}
	for i, seat := range list {
		g.edge(t.first+t.size+int32(i), seat.in)
	}
	return t
}

// feed adds edges from a node to all seats in [from, to).
func (t seatTree) feed(g *graph, node int32, from, to int) {
	for lo, hi := t.size+int32(from), t.size+int32(to); lo < hi; lo, hi = lo/2, hi/2 {
		if lo%2 == 1 {
			g.edge(node, t.first+lo)
			lo++
		}
		if hi%2 == 1 {
			hi--
			g.edge(node, t.first+hi)
		}
	}
}
