package exact

import "slices"

// gaps are the places between neighbouring firm clusters. In any order, every soft
// cluster lies in one of them. A firm cluster has a gap before it and one after it; a
// bond makes two gaps one: the gap after u (or the one in which u lies) is the gap
// before v (or the one in which v lies).
//
// A gap with two firm clusters on one side is a contradiction. One with a firm
// cluster on either side makes the two neighbours.
type gaps struct {
	role   []role
	up     []int32 // union-find over slots: see before and after
	joined []int32 // the gaps that bonds have made: roots of slots

	left  []int32 // by gap: the firm cluster before it, -1 if none is known
	right []int32 // by gap: the firm cluster after it, -1 if none is known
	first []int32 // by gap: the first of the soft clusters in it, -1 if there is none
	next  []int32 // by soft cluster: the next one in its gap, -1 if there is none

	// clash: two firm clusters that would be in one place, or a cluster twice that would
	// follow itself. The rest is then of no use.
	clash []int32
}

// newGaps joins gaps. Soft are the zones that lie in gaps: soft clusters, and bare
// bases if they are taken as such.
func newGaps(roles []role, soft []int32, bonds []bond) *gaps {
	n := 2 * int32(len(roles))
	all := make([]int32, 4*n)
	g := &gaps{role: roles, up: all[:n], left: all[n : 2*n], right: all[2*n : 3*n], first: all[3*n:], next: make([]int32, n/2)}
	for k := range n {
		g.up[k] = k
	}
	for k := range all[n:] {
		all[n:][k] = -1
	}
	for _, b := range bonds {
		if b.u == b.v {
			g.clash = []int32{b.u, b.v}
			return g
		}
		g.up[g.gap(g.after(b.u))] = g.gap(g.before(b.v))
	}
	for _, b := range bonds {
		if !g.border(b.u) || !g.border(b.v) {
			return g
		}
	}
	g.list(bonds)
	g.fill(soft)
	return g
}

// before and after are the slots of a cluster. A soft one has only one.
func (g *gaps) before(v int32) int32 { return 2 * v }

func (g *gaps) after(v int32) int32 {
	if g.role[v] == firm {
		return 2*v + 1
	}
	return 2 * v
}

// gap is the root of a slot.
func (g *gaps) gap(slot int32) int32 {
	for g.up[slot] != slot {
		g.up[slot] = g.up[g.up[slot]]
		slot = g.up[slot]
	}
	return slot
}

// border enters a firm cluster beside its two gaps; false if another one is there.
func (g *gaps) border(v int32) bool {
	if g.role[v] != firm {
		return true
	}
	return g.enter(g.left, g.gap(g.after(v)), v) && g.enter(g.right, g.gap(g.before(v)), v)
}

func (g *gaps) enter(side []int32, gap, v int32) bool {
	if other := side[gap]; other >= 0 && other != v {
		g.clash = []int32{other, v}
		return false
	}
	side[gap] = v
	return true
}

func (g *gaps) list(bonds []bond) {
	seen := make([]bool, len(g.up))
	for _, b := range bonds {
		if gap := g.gap(g.before(b.v)); !seen[gap] {
			seen[gap] = true
			g.joined = append(g.joined, gap)
		}
	}
}

// fill lists the soft clusters of every gap.
func (g *gaps) fill(soft []int32) {
	for _, v := range slices.Backward(soft) {
		gap := g.gap(g.before(v))
		g.next[v] = g.first[gap]
		g.first[gap] = v
	}
}
