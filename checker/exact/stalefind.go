package exact

import "context"

// find looks for an order, or finds operations that have none: those of one
// component, unsorted and far from few.
//
// Let < be the relation of the history's own order and the grants, with each write
// before the reads of its value. An order that is true to < and explains the values
// exists if and only if
//
//	(i)  < has no cycle among operations, and
//	(ii) no strongly connected component of <, with every cluster contracted, holds
//	     two clusters.
//
// Only if: in an order clusters do not interleave, so that a path from one cluster
// to another leads from the earlier to the later. If: sort by component of (ii), and
// inside of a component by <. Its one cluster is together but for operations that
// stand alone, and its write comes before its reads. Contracting alone is not enough:
// an open may have to lie between a write and its read, and is then in a cycle with
// their node.
//
// The graph is that of (ii) from the start. A cycle of (i) lies in one component,
// so it is looked for inside those that hold more than one operation.
func (s *Solver) find(ctx context.Context, r rules) (order, stuck []int32) {
	g, zone := s.zoneGraph(r)
	comp, _ := g.components()
	if ctx.Err() != nil {
		return nil, nil
	}
	order, runs := s.byComponent(r.in, zone, comp)
	var hard [][]int32
	for _, run := range runs {
		if !r.Values || s.twoClusters(run) {
			return nil, run
		}
		if !s.arrange(r, run) {
			hard = append(hard, run)
		}
	}
	if stuck := s.settle(r, hard); stuck != nil {
		return nil, stuck
	}
	return order, nil
}

// zoneGraph is the relation with clusters contracted, if values count.
func (s *Solver) zoneGraph(r rules) (*graph, zoning) {
	if !r.Values {
		zone := s.single(r.in)
		return s.operationGraph(r, zone), zone
	}
	g := s.zones().fork()
	if r.Grants {
		s.addGrants(g, s.zone)
	}
	return g, s.zone
}

// operationGraph is the relation, without values, for operations with nodes of their
// own. One more node stands for the initial value.
func (s *Solver) operationGraph(r rules, zone zoning) *graph {
	g := newGraph(s.n + 1)
	if r.SeqOnly {
		s.addNumbers(g, zone)
	} else {
		s.addBefore(g, zone)
	}
	if r.Grants {
		s.addGrants(g, zone)
	}
	return g
}

// single gives the operations that are in nodes of their own.
func (s *Solver) single(in []bool) zoning {
	zone := make([]int32, s.n)
	for i := range zone {
		if zone[i] = -1; in[i] {
			zone[i] = int32(i)
		}
	}
	return zone
}

// byComponent sorts the operations that are in by component, and cuts out the runs
// of those that share one. Such a run is ascending.
func (s *Solver) byComponent(in []bool, zone zoning, comp []int32) (order []int32, runs [][]int32) {
	at := make([]int32, len(comp)+1)
	for i, node := range zone {
		if in[i] {
			at[comp[node]+1]++
		}
	}
	for c := range comp {
		at[c+1] += at[c]
	}
	order = make([]int32, at[len(comp)])
	for i, node := range zone {
		if in[i] {
			order[at[comp[node]]] = int32(i)
			at[comp[node]]++
		}
	}
	from := int32(0)
	for _, end := range at[:len(comp)] { // each now is where its run ends
		if end-from > 1 {
			runs = append(runs, order[from:end])
		}
		from = end
	}
	return order, runs
}

// twoClusters tells whether operations belong to two clusters.
func (s *Solver) twoClusters(ops []int32) bool {
	first := int32(-1)
	for _, i := range ops {
		zone := s.zone[i]
		switch {
		case !s.isCluster(zone):
		case first >= 0 && zone != first:
			return true
		default:
			first = zone
		}
	}
	return false
}
