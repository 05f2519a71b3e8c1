package exact

// A block is a run of firm neighbours: in every order it stands together, but for
// what lies in its gaps. The gaps inside it and the two at its ends, its rims, go
// with it: what lies in the rim before its first cell is its head, what lies in the
// rim after its last one its tail.
//
// With blocks contracted, rims included, no two blocks in one component means that
// there is an order. The reverse does not hold: "the head of B comes before the tail
// of C" does not order the two blocks. B may come before C; or right after C, and then
// the two rims are one gap. So, if two blocks share a component, the question is asked
// again with only what is certain (see loosely); two blocks in a component are then a
// proof that there is no order. What is left between the two is tried (see tryRims).

// solveBlocks is the last layer.
func (t *layers) solveBlocks(spans, clusters []int32) attempt {
	blocks := newBlocks(t)
	g := t.g
	t.g = g.fork()
	t.contractBlocks(true)
	comp, _ := t.g.components()
	a, _, found := blocks.two(comp)
	if !found {
		return attempt{order: t.sorted(comp, spans, clusters)}
	}
	rims := blocks.meeting(comp, comp[a])
	copied := g.nodes
	t.g = t.loosely(g)
	comp, _ = t.g.components()
	if a, b, found := blocks.two(comp); found {
		return t.contradiction(t.aroundCopies(comp, a, b, copied))
	}
	return attempt{bonds: t.bonds, rims: rims}
}

// blocks are the runs of neighbours of one reading.
type blocks struct {
	*layers
	up []int32 // union-find over firm cells
}

func newBlocks(t *layers) *blocks {
	b := &blocks{layers: t, up: make([]int32, t.n+1)}
	for c := range b.up {
		b.up[c] = int32(c)
	}
	for _, gap := range t.joined {
		if left, right := t.left[gap], t.right[gap]; left >= 0 && right >= 0 {
			b.up[b.block(left)] = b.block(right)
		}
	}
	return b
}

// block is the name of a firm cell's block.
func (b *blocks) block(cell int32) int32 {
	for b.up[cell] != cell {
		b.up[cell] = b.up[b.up[cell]]
		cell = b.up[cell]
	}
	return cell
}

// two finds firm cells of two blocks in one component.
func (b *blocks) two(comp []int32) (x, y int32, found bool) {
	first := make([]int32, len(comp)) // by component: a firm cell + 1
	for _, c := range b.lost.firm {
		if x := first[comp[c]] - 1; x < 0 {
			first[comp[c]] = c + 1
		} else if b.block(x) != b.block(c) {
			return x, c, true
		}
	}
	return 0, 0, false
}

// contractBlocks makes each block one component: neighbours lead back, and with rims
// what lies in the gaps of a block leads to it and back.
func (t *layers) contractBlocks(rims bool) {
	for _, gap := range t.joined {
		left, right := t.left[gap], t.right[gap]
		if left >= 0 && right >= 0 {
			t.g.edge(right, left)
		}
		if !rims {
			continue
		}
		for c := t.first[gap]; c >= 0; c = t.next[c] {
			if left >= 0 {
				t.g.edge(c, left)
			}
			if right >= 0 {
				t.g.edge(right, c)
			}
		}
	}
}

// loosely is the graph of g with blocks contracted, in which rims say only what is
// certain. With a head before its block and a tail after it, all but "head before
// tail" orders blocks. So what follows a head follows its block, unless it is a tail:
// paths that leave a block by its head run on a copy of the graph, where tails do not
// lead to their blocks.
func (t *layers) loosely(g *graph) *graph {
	copied := g.nodes
	t.g = g.fork()
	t.g.nodes = 2 * copied
	isFirm := func(v int32) bool { return v <= t.n && t.lost.role[v] == firm }
	for v := range copied {
		if isFirm(v) {
			continue
		}
		g.each(v, func(to int32) {
			if !isFirm(to) {
				to += copied
			}
			t.g.edge(v+copied, to)
		})
	}
	t.contractBlocks(false)
	for _, gap := range t.joined {
		left, right := t.left[gap], t.right[gap]
		for c := t.first[gap]; c >= 0; c = t.next[c] {
			switch {
			case left >= 0 && right < 0: // a tail
				t.g.edge(c, left)
			case right >= 0 && left < 0: // a head
				t.g.edge(right, c+copied)
			}
		}
	}
	return t.g
}

// aroundCopies is around for a graph in which node v+copied stands for v.
func (t *layers) aroundCopies(comp []int32, a, b, copied int32) []int32 {
	in := func(v int32) bool { return comp[v] == comp[a] }
	var walk []int32
	for _, v := range append(t.g.route(a, b, t.g.nodes, in), t.g.route(b, a, t.g.nodes, in)...) {
		if v %= copied; v <= t.n {
			walk = append(walk, v)
		}
	}
	return walk
}

// mostRims bounds the bonds between rims that are tried.
const mostRims = 16

// meeting lists, for one component, the bonds that would make a block with a tail
// the left neighbour of one with a head.
func (b *blocks) meeting(comp []int32, which int32) []bond {
	var lasts, firsts []int32
	for _, gap := range b.joined {
		c := b.first[gap]
		if c < 0 || comp[c] != which {
			continue
		}
		switch left, right := b.left[gap], b.right[gap]; {
		case left >= 0 && right < 0:
			lasts = append(lasts, left)
		case right >= 0 && left < 0:
			firsts = append(firsts, right)
		}
	}
	var out []bond
	for _, u := range lasts[:min(len(lasts), mostRims)] {
		for _, v := range firsts[:min(len(firsts), mostRims)] {
			if b.block(u) != b.block(v) && len(out) < mostRims {
				out = append(out, bond{u, v, v})
			}
		}
	}
	return out
}
