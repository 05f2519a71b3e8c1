package exact

// graph is a digraph that says which operations of a resource must come before
// which. Its first nodes are the operations; the node after them stands for the
// initial value; the rest are added (see [graph.node]), so that a relation of n²
// pairs takes some n edges: operation x must come before y if a path leads from x
// to y.
//
// A graph grows in layers. Every question (components, route) is asked of the edges
// added so far; fork makes a graph that shares them and goes on by itself, so that
// several questions can begin with the same part.
type graph struct {
	nodes    int32
	layers   []layer // closed; shared with forks, and not to be changed
	from, to []int32 // edges since
}

// layer holds edges in rows, for the nodes from first on: those of node v lead to
// adj[start[v-first]:start[v-first+1]]. Without start, every row is one edge or
// none: to adj[v-first], unless that is negative.
type layer struct {
	first int32
	start []int32
	adj   []int32
}

// row is the range in adj that belongs to node v.
func (l *layer) row(v int32) (at, end int32) {
	v -= l.first
	switch {
	case v < 0:
	case l.start != nil:
		if int(v)+1 < len(l.start) {
			return l.start[v], l.start[v+1]
		}
	case int(v) < len(l.adj) && l.adj[v] >= 0:
		return v, v + 1
	}
	return 0, 0
}

// newGraph has nodes 0 to nodes-1 and no edges.
func newGraph(nodes int32) *graph { return &graph{nodes: nodes} }

// node adds a node and returns it.
func (g *graph) node() int32 {
	g.nodes++
	return g.nodes - 1
}

// edge adds an edge from a to b. Edges may repeat.
func (g *graph) edge(a, b int32) {
	g.from = append(g.from, a)
	g.to = append(g.to, b)
}

// fork is a graph with the same nodes and edges. Both may grow, each by itself.
func (g *graph) fork() *graph {
	g.close()
	return &graph{nodes: g.nodes, layers: g.layers[:len(g.layers):len(g.layers)]}
}

// close makes a layer of the edges that were added one by one.
func (g *graph) close() {
	if len(g.from) == 0 {
		return
	}
	first, end := g.from[0], g.from[0]
	for _, a := range g.from {
		first, end = min(first, a), max(end, a)
	}
	l := layer{first: first, start: make([]int32, end-first+2), adj: make([]int32, len(g.to))}
	for _, a := range g.from {
		l.start[a-first+1]++
	}
	for v := 1; v < len(l.start); v++ {
		l.start[v] += l.start[v-1]
	}
	// Filling the rows from their ends moves every end to where the row begins, so
	// that no second array of positions is needed.
	for k := len(g.from) - 1; k >= 0; k-- {
		v := g.from[k] - first + 1
		l.start[v]--
		l.adj[l.start[v]] = g.to[k]
	}
	copy(l.start, l.start[1:])
	l.start[len(l.start)-1] = int32(len(l.adj))
	g.layers = append(g.layers, l)
	g.from, g.to = nil, nil
}

// each calls f with every node to which an edge leads from v. The graph has to be
// closed.
func (g *graph) each(v int32, f func(int32)) {
	for k := range g.layers {
		at, end := g.layers[k].row(v)
		for _, b := range g.layers[k].adj[at:end] {
			f(b)
		}
	}
}
