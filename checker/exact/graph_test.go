package exact

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomGraph has some edges in rows that were closed early, some in forks, and some
// of every kind of layer.
func randomGraph(r *rand.Rand) (g *graph, edges [][2]int32) {
	g = newGraph(1 + r.Int32N(12))
	for range r.IntN(3) {
		for range r.IntN(12) {
			a, b := r.Int32N(g.nodes), r.Int32N(g.nodes)
			g.edge(a, b)
			edges = append(edges, [2]int32{a, b})
		}
		if r.IntN(2) == 0 {
			g.node()
		}
		if r.IntN(2) == 0 {
			single := layer{first: r.Int32N(g.nodes)}
			for v := single.first; v < g.nodes && r.IntN(4) > 0; v++ {
				b := r.Int32N(g.nodes+1) - 1
				if single.adj = append(single.adj, b); b >= 0 {
					edges = append(edges, [2]int32{v, b})
				}
			}
			g.layers = append(g.layers, single)
		}
		g = g.fork()
	}
	return g, edges
}

// reachable is the closure of the edges.
func reachable(nodes int32, edges [][2]int32) [][]bool {
	to := make([][]bool, nodes)
	for v := range to {
		to[v] = make([]bool, nodes)
	}
	for _, e := range edges {
		to[e[0]][e[1]] = true
	}
	for k := range to {
		for a := range to {
			for b := range to {
				to[a][b] = to[a][b] || to[a][k] && to[k][b]
			}
		}
	}
	return to
}

func TestComponents(t *testing.T) {
	t.Parallel()
	for round := range 20_000 {
		g, edges := randomGraph(rand.New(rand.NewPCG(1, uint64(round))))
		to := reachable(g.nodes, edges)
		comp, count := g.components()
		distinct := map[int32]bool{}
		for a := range g.nodes {
			distinct[comp[a]] = true
			for b := range g.nodes {
				if together := to[a][b] && to[b][a]; a != b && together != (comp[a] == comp[b]) {
					t.Fatalf("round %d: %d and %d are together: %v, components %v", round, a, b, together, comp)
				}
				if to[a][b] && comp[a] > comp[b] {
					t.Fatalf("round %d: %d leads to %d, but stands later: %v", round, a, b, comp)
				}
			}
		}
		if len(distinct) != int(count) || slices.Max(comp) != count-1 || slices.Min(comp) != 0 {
			t.Fatalf("round %d: %d components %v", round, count, comp)
		}
	}
}

// A chain is as long as the history: the walk must not use the stack of the program,
// nor look at an edge twice.
func TestComponentsOfALongChain(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	g := newGraph(n)
	for v := range int32(n - 1) {
		g.edge(v, v+1)
	}
	if _, count := g.components(); count != n {
		t.Errorf("%d components of a chain of %d", count, n)
	}
	g.edge(n-1, 0)
	if _, count := g.components(); count != 1 {
		t.Errorf("%d components of a circle", count)
	}
}

// TestRoute compares the number of operations on a route with the least there is.
func TestRoute(t *testing.T) {
	t.Parallel()
	for round := range 20_000 {
		r := rand.New(rand.NewPCG(2, uint64(round)))
		g, edges := randomGraph(r)
		ops, a, b, out := r.Int32N(g.nodes+1), r.Int32N(g.nodes), r.Int32N(g.nodes), r.Int32N(g.nodes)
		in := func(v int32) bool { return v != out || v == a || v == b }
		got := g.route(a, b, ops, in)
		want := fewest(g.nodes, edges, a, b, ops, in)
		if a < ops && a != b && want >= 0 {
			want++ // the first one counts, too
		}
		if want < 0 && got == nil || len(got) == want && got != nil {
			continue
		}
		t.Fatalf("round %d: a route from %d to %d takes %v of the operations below %d; the least is %d", round, a, b, got, ops, want)
	}
}

// fewest is how many operations a route takes, but for its first node; -1: there is none.
func fewest(nodes int32, edges [][2]int32, a, b, ops int32, in func(int32) bool) int {
	const far = 1 << 20
	at := make([]int, nodes)
	for v := range at {
		at[v] = far
	}
	best := far
	for range nodes + 1 {
		for _, e := range edges {
			cost := 0
			if e[0] != a {
				cost = at[e[0]]
			}
			if e[1] < ops {
				cost++
			}
			if !in(e[0]) || !in(e[1]) || cost >= far {
				continue
			}
			if at[e[1]] = min(at[e[1]], cost); e[1] == b {
				best = min(best, cost)
			}
		}
	}
	if best >= far {
		return -1
	}
	return best
}

// TestChain: a source leads to the targets at its place or later, and to nothing else.
func TestChain(t *testing.T) {
	t.Parallel()
	for round := range 20_000 {
		r := rand.New(rand.NewPCG(3, uint64(round)))
		nodes := 1 + r.Int32N(40)
		g := newGraph(nodes)
		var targets, sources, enter []int32
		for _, v := range r.Perm(int(nodes))[:r.IntN(min(int(nodes), 12))] {
			targets = append(targets, int32(v))
			for r.IntN(3) == 0 {
				targets = append(targets, -1)
			}
		}
		for _, v := range r.Perm(int(nodes))[:1+r.IntN(min(int(nodes), 12))] {
			sources, enter = append(sources, int32(v)), append(enter, r.Int32N(int32(len(targets)+1)))
		}
		g.chain(targets, sources, enter)
		var edges [][2]int32
		g.close()
		for v := range g.nodes {
			g.each(v, func(w int32) { edges = append(edges, [2]int32{v, w}) })
		}
		if links := int(g.nodes - nodes); links > len(sources) || len(edges) > len(sources)+len(targets)+links {
			t.Fatalf("round %d: %d links and %d edges for %d sources and %d targets", round, links, len(edges), len(sources), len(targets))
		}
		compareChain(t, round, nodes, targets, sources, enter, direct(g, nodes, edges))
	}
}

// direct is the relation that paths through added nodes alone make.
func direct(g *graph, nodes int32, edges [][2]int32) map[[2]int32]bool {
	links := edges[:0:0] // without what leads on from an operation
	for _, e := range edges {
		if e[0] >= nodes {
			links = append(links, e)
		}
	}
	to := reachable(g.nodes, links)
	found := map[[2]int32]bool{}
	for _, e := range edges {
		for b := range nodes {
			if e[0] < nodes && (e[1] == b || to[e[1]][b]) {
				found[[2]int32{e[0], b}] = true
			}
		}
	}
	return found
}

func compareChain(t *testing.T, round int, nodes int32, targets, sources, enter []int32, got map[[2]int32]bool) {
	t.Helper()
	want := map[[2]int32]bool{}
	for k, a := range sources {
		for p, b := range targets {
			if b >= 0 && int32(p) >= enter[k] {
				want[[2]int32{a, b}] = true
			}
		}
	}
	for a := range nodes {
		for b := range nodes {
			if e := [2]int32{a, b}; got[e] != want[e] {
				t.Fatalf("round %d: %d leads to %d: %v", round, a, b, got[e])
			}
		}
	}
}

func TestSortByKey(t *testing.T) {
	t.Parallel()
	for round := range 400 {
		r := rand.New(rand.NewPCG(4, uint64(round)))
		n, bits := r.IntN(3000), 1+r.IntN(63)
		items, keys, of := make([]int32, n), make([]uint64, n), make([]uint64, n)
		for k := range items {
			items[k], keys[k] = int32(k), r.Uint64()>>bits|uint64(round%2)<<63
			of[k] = keys[k]
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(of[a], of[b]) })
		sortByKey(items, keys)
		if !slices.Equal(items, want) || !slices.IsSorted(keys) {
			t.Fatalf("round %d: %d keys of %d bits are not sorted, or not stably", round, n, 64-bits)
		}
	}
	if a, b := ascending(-1), ascending(1); a >= b {
		t.Errorf("the key of -1 is %d, of 1 %d", a, b)
	}
}
