package exact

// frame is a node that the walk of components is in: where it goes on, and whether
// the node may still be the first of its component.
type frame struct {
	v       int32
	layer   int32
	at, end int32
	root    bool
}

// parts walks a graph depth first and numbers its strongly connected components
// (Tarjan 1972, with one number for each node as in Pearce, "A space-efficient
// algorithm for finding strongly connected components", 2016; with an explicit
// stack, since chains are as long as the history).
type parts struct {
	g     *graph
	index []int32 // 0: not seen; while open: the earliest open node reached; then the component
	next  int32   // number of open nodes + 1
	last  int32   // the number for the next component; they are given from the highest down
	open  []int32 // nodes that were left, but whose component is not complete
	path  []frame
}

// components numbers the strongly connected components from 0 in topological
// order: an edge never leads to a component with a smaller number. comp is by node.
func (g *graph) components() (comp []int32, count int32) {
	g.close()
	p := parts{g: g, index: make([]int32, g.nodes), next: 1, last: g.nodes}
	for v := range g.nodes {
		if p.index[v] == 0 {
			p.walk(v)
		}
	}
	for v := range p.index {
		p.index[v] -= p.last + 1
	}
	return p.index, g.nodes - p.last
}

func (p *parts) enter(v int32) {
	p.index[v] = p.next
	p.next++
	p.path = append(p.path, frame{v: v, layer: -1, root: true})
}

func (p *parts) walk(from int32) {
	p.enter(from)
	for len(p.path) > 0 {
		if !p.step(&p.path[len(p.path)-1]) {
			p.leave()
		}
	}
}

// step follows the edges of a frame until one leads to a node not seen; false at
// the end.
func (p *parts) step(f *frame) bool {
	low := p.index[f.v]
	for {
		for f.at < f.end {
			b := p.g.layers[f.layer].adj[f.at]
			switch i := p.index[b]; {
			case i == 0:
				p.index[f.v] = low
				p.enter(b) // it is looked at again once it is left
				return true
			case i < low:
				low, f.root = i, false
			}
			f.at++
		}
		if f.layer++; int(f.layer) == len(p.g.layers) {
			p.index[f.v] = low
			return false
		}
		f.at, f.end = p.g.layers[f.layer].row(f.v)
	}
}

// leave closes the last frame: its component is complete, or it waits for it.
func (p *parts) leave() {
	f := &p.path[len(p.path)-1]
	v, low := f.v, p.index[f.v]
	p.path = p.path[:len(p.path)-1]
	if !f.root {
		p.open = append(p.open, v)
		return
	}
	p.next--
	for n := len(p.open); n > 0 && p.index[p.open[n-1]] >= low; n = len(p.open) {
		p.index[p.open[n-1]] = p.last
		p.open = p.open[:n-1]
		p.next--
	}
	p.index[v] = p.last
	p.last--
}
