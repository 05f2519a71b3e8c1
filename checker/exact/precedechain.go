package exact

import "slices"

// chain adds a relation that places on a line give: sources[k] comes before every
// target at place enter[k] or later. targets holds the node at each place, -1 for
// none; a node may be a source once and a target once.
//
// A source leads to the link of its place, a link to its targets (up to the next
// link) and to the next link. So there are two edges a node and one a link, and no
// more links than sources: where no target lies between, sources share one.
func (g *graph) chain(targets, sources, enter []int32) {
	const entered = 1
	link := make([]int32, len(targets)+1) // by place: the link to which a source there leads
	for _, p := range enter {
		link[p] = entered
	}
	rows := layer{first: g.nodes, adj: make([]int32, 0, 2*len(targets))}
	count, open := int32(0), false // open: a source entered since the last target
	for p, target := range targets {
		if link[p] == entered {
			link[p], open = count, true
		}
		if target < 0 {
			continue
		}
		if open {
			if count > 0 {
				rows.adj = append(rows.adj, g.nodes+count)
			}
			rows.start = append(rows.start, int32(len(rows.adj)))
			count, open = count+1, false
		}
		if count > 0 {
			rows.adj = append(rows.adj, target)
		}
	}
	if count == 0 {
		return
	}
	link[len(targets)] = count // after the last target: there is no such link
	rows.start = append(rows.start, int32(len(rows.adj)))
	if nodes := slices.Max(sources) + 1; int(nodes) <= denseChain*len(sources) {
		g.layers = append(g.layers, leads(nodes, g.nodes, sources, enter, link, count), rows)
	} else {
		g.addSparse(sources, enter, link, rows)
	}
	g.nodes += count
}

// denseChain is how many nodes there may be for each source of a chain that gets
// layers of its own. Every walk asks all layers at every node; there may be a chain
// for each of many locks, and those are small.
const denseChain = 16

// leads is the edge from each source to its link.
func leads(nodes, first int32, sources, enter, link []int32, count int32) layer {
	single := layer{adj: make([]int32, nodes)}
	for v := range single.adj {
		single.adj[v] = -1
	}
	for k, source := range sources {
		if l := link[enter[k]]; l < count {
			single.adj[source] = first + l
		}
	}
	return single
}

// addSparse adds the edges of a small chain one by one.
func (g *graph) addSparse(sources, enter, link []int32, rows layer) {
	count := int32(len(rows.start) - 1)
	for k, source := range sources {
		if l := link[enter[k]]; l < count {
			g.edge(source, g.nodes+l)
		}
	}
	for l := range count {
		for _, b := range rows.adj[rows.start[l]:rows.start[l+1]] {
			g.edge(g.nodes+l, b)
		}
	}
}
