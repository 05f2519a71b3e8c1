package exact

import (
	"slices"
	"sort"
)

// attempt is what came of looking for an order under one reading: an order, or a walk
// through zones that shows that there is none, or neither (see blocks).
type attempt struct {
	order []int32 // operations
	walk  []int32 // zones
	bonds []bond  // of the reading, for the walk
	rims  []bond  // if neither: bonds that would decide it
}

func (a *attempt) legal() bool   { return a.order != nil }
func (a *attempt) illegal() bool { return a.walk != nil }

// layers are the graph of one reading as it grows. In each layer more is contracted,
// and each must keep apart what can't be in one place:
//
//	clusters: no component holds two clusters;
//	gaps:     with the soft clusters of each gap contracted, a component that holds a
//	          firm cluster holds no other;
//	blocks:   with neighbours contracted, no component holds two blocks.
//
// If all hold, an order is found by sorting by component: of the blocks, then of the
// gaps, then of the clusters, then by place in an order that explains the values. It
// is true to the graph. Its clusters are together. A block lies in a component without
// a firm cluster of another block, and what is inside follows the graph: so neighbours
// are neighbours among firm clusters. The soft clusters of a gap lie in a component
// that holds no firm one: so they are in one gap, and the graph puts it between the
// right neighbours.
//
// The first two are necessary: give the firm clusters of an order the places 1, 2,
// 3, ..., and the soft ones the half between. Along every edge the place never falls,
// and it rises at every firm cluster. For blocks, see there.
type layers struct {
	*lost
	*gaps
	g      *graph
	bonds  []bond
	groups []int32 // clusters, and bare bases if they are taken as such
}

// solve looks for an order under a reading, and under further bonds.
func (l *lost) solve(how reading, glued []bond) attempt {
	t := layers{lost: l, bonds: append(l.bonds(how), glued...), groups: slices.Concat(l.soft, l.firm)}
	soft := l.soft
	if how.strict {
		t.groups, soft = slices.Concat(t.groups, l.bare), slices.Concat(l.soft, l.bare)
	}
	if t.gaps = newGaps(l.role, soft, t.bonds); t.clash != nil {
		return t.contradiction(t.clash)
	}
	t.g = l.zones().fork()
	t.addBonds()
	if !how.strict {
		t.addBare()
	}
	t.addPlaces(how)
	clusters, _ := t.g.components()
	if a, b, found := t.two(clusters); found {
		return t.contradiction(t.around(clusters, a, b))
	}
	spans := clusters
	if t.contractGaps() {
		spans, _ = t.g.components()
		if a, b, found := t.firmWithOthers(spans); found {
			return t.contradiction(t.around(spans, a, b))
		}
	}
	return t.solveBlocks(spans, clusters)
}

func (t *layers) contradiction(walk []int32) attempt { return attempt{walk: walk, bonds: t.bonds} }

// addBonds: a bond is an order, and what lies in a gap lies between its neighbours.
func (t *layers) addBonds() {
	for _, b := range t.bonds {
		t.g.edge(b.u, b.v)
	}
	for _, gap := range t.joined {
		left, right := t.left[gap], t.right[gap]
		if left >= 0 && right >= 0 {
			t.g.edge(left, right)
		}
		for v := t.first[gap]; v >= 0; v = t.next[v] {
			if left >= 0 {
				t.g.edge(left, v)
			}
			if right >= 0 {
				t.g.edge(v, right)
			}
		}
	}
}

// addBare puts bare bases into their gaps: after the write on the left of it, perhaps
// before other operations of that cluster, and before the cluster on the right. Every
// firm write that comes after such a base is the one on the right, or comes after it.
func (t *layers) addBare() {
	if len(t.bare) == 0 {
		return
	}
	writes := t.lost.firm[:len(t.lost.firm)-1] // without the initial value: by invocation
	chain := t.g.nodes
	for k, w := range writes {
		t.g.edge(t.g.node(), w)
		if k > 0 {
			t.g.edge(chain+int32(k)-1, chain+int32(k))
		}
	}
	for _, b := range t.bare {
		gap := t.gap(t.before(b))
		if left := t.left[gap]; left >= 0 {
			t.g.edge(left, b)
		}
		right := t.right[gap]
		if right < 0 {
			continue
		}
		t.g.edge(b, right)
		after := sort.Search(len(writes), func(k int) bool { return t.ops[writes[k]].Invoke > t.ops[b].Answer })
		if after < len(writes) && !t.ops[b].Numbered { // else numbers may say something else
			t.g.edge(right, chain+int32(after))
		}
	}
}

// addPlaces puts the open writes to their places among their workers' writes.
func (t *layers) addPlaces(how reading) {
	for _, w := range t.open {
		more, placed := how.place[w]
		if !placed && !how.strict {
			continue
		}
		mine := t.own.of(t.ops[w].Worker)
		k := t.placing[w].follows + more
		if k > 0 {
			t.g.edge(mine[k-1], w)
		}
		if int(k) < len(mine) {
			t.g.edge(w, mine[k])
		}
	}
}

// contractGaps makes the soft clusters of each gap one component; false if that
// changes nothing.
func (t *layers) contractGaps() (any bool) {
	for _, gap := range t.joined {
		for v := t.first[gap]; v >= 0 && t.next[v] >= 0; v = t.next[v] {
			t.g.edge(v, t.next[v])
			t.g.edge(t.next[v], v)
			any = true
		}
	}
	return any
}

// two finds two groups in one component.
func (t *layers) two(comp []int32) (a, b int32, found bool) {
	first := make([]int32, len(comp)) // by component: a group + 1
	for _, v := range t.groups {
		if first[comp[v]] > 0 {
			return first[comp[v]] - 1, v, true
		}
		first[comp[v]] = v + 1
	}
	return 0, 0, false
}

// firmWithOthers finds a firm cluster that shares a component with another group.
func (t *layers) firmWithOthers(comp []int32) (a, b int32, found bool) {
	first := make([]int32, len(comp)) // by component: a firm cluster + 1
	for _, v := range t.lost.firm {
		first[comp[v]] = v + 1
	}
	for _, v := range t.groups {
		if f := first[comp[v]] - 1; f >= 0 && f != v {
			return f, v, true
		}
	}
	return 0, 0, false
}

// around leads from zone a to zone b and back inside their component.
func (t *layers) around(comp []int32, a, b int32) []int32 {
	in := func(v int32) bool { return comp[v] == comp[a] }
	return append(t.g.route(a, b, t.n+1, in), t.g.route(b, a, t.n+1, in)...)
}
