package exact

import (
	"context"
	"slices"
)

// core finds few operations that have no order by themselves, among stuck ones.
func (s *Solver) core(ctx context.Context, r rules, stuck []int32) []int32 {
	in := make([]bool, s.n)
	for _, i := range stuck {
		in[i] = true
	}
	walk := s.walk(r, in)
	return s.shrink(walk, func(part *Solver) bool {
		q := rules{Question: r.Question, in: part.happened}
		if !r.Values {
			q.in = part.acknowledged()
		}
		_, stuck := part.find(ctx, q)
		return stuck != nil
	})
}

// walk finds operations that lie on a cycle of (i), or of (ii): see find.
func (s *Solver) walk(r rules, in []bool) []int32 {
	g := s.operationGraph(r, s.single(in))
	if r.Values {
		s.addValues(g, in, s.n)
	}
	comp, _ := g.components()
	if cycle := s.cycle(g, comp, in); cycle != nil || !r.Values {
		return cycle
	}
	s.addClusters(g, in)
	comp, _ = g.components()
	a, b := s.twoIn(comp, in)
	return s.through(g, comp, a, b)
}

// cycle finds a cycle of operations that are in, with few of them; nil if there is
// none.
func (s *Solver) cycle(g *graph, comp []int32, in []bool) (best []int32) {
	const tries = 8
	size := make([]int32, g.nodes)
	for i, c := range comp[:s.n] {
		if in[i] {
			size[c]++
		}
	}
	tried := 0
	for i := range s.n {
		if !in[i] || size[comp[i]] < 2 {
			continue
		}
		found := g.route(i, i, s.n, func(v int32) bool { return comp[v] == comp[i] })
		if best == nil || len(found) < len(best) {
			best = found
		}
		if tried++; tried == tries || len(best) == 2 {
			break
		}
	}
	return best
}

// twoIn finds two operations of two clusters in one component. There are some, by
// find; if not, the core is none, and that is noticed when it is confirmed.
func (s *Solver) twoIn(comp []int32, in []bool) (a, b int32) {
	first := make([]int32, len(comp)) // by component: an operation of a cluster + 1
	for i := range s.n {
		if !in[i] || !s.isCluster(s.zone[i]) {
			continue
		}
		if a := first[comp[i]] - 1; a < 0 {
			first[comp[i]] = i + 1
		} else if s.zone[a] != s.zone[i] {
			return a, i
		}
	}
	return 0, 0
}

// through is a walk from a to b and back inside their component.
func (s *Solver) through(g *graph, comp []int32, a, b int32) []int32 {
	in := func(v int32) bool { return comp[v] == comp[a] }
	return append(g.route(a, b, s.n, in), g.route(b, a, s.n, in)...)
}

// shrinkWork bounds what shrink looks at, in operations of all parts tried. A walk is
// a handful of operations, but for histories that are made to hurt.
const shrinkWork = 2_000_000

// shrink leaves out operations as long as what is left has no order. A read keeps
// the writes of its value, and a write without an answer a read that proves it: so
// every part is a history that is legal if the whole one is.
func (s *Solver) shrink(walk []int32, illegal func(part *Solver) bool) []int32 {
	keep, work := s.closed(walk), 0
	for size := max(1, len(keep)/2); size >= 1; {
		dropped := false
		for at := 0; at < len(keep) && work < shrinkWork; {
			less := s.open(slices.Concat(keep[:at], keep[min(at+size, len(keep)):]))
			work += len(less)
			if len(less) > 0 && illegal(s.only(less)) {
				keep, dropped = less, true
			} else {
				at += size
			}
		}
		if !dropped || size > 1 {
			size /= 2
		}
	}
	return keep
}

// closed adds what operations need to be a history: for a read the writes of its
// value, for a write without an answer a read of it. They come out ascending.
func (s *Solver) closed(part []int32) []int32 {
	part = slices.Clone(part)
	several := map[int32]bool{} // values
	for _, i := range part {
		switch from := s.origin.of[i]; {
		case from >= 0:
			part = append(part, from)
		case from == fromSeveral:
			several[s.value[i]] = true
		}
	}
	if len(several) > 0 {
		for i := range s.n {
			if s.is(i, isWrite) && several[s.value[i]] {
				part = append(part, i)
			}
		}
	}
	for _, i := range part {
		if readers := s.origin.readers(i); !s.is(i, isAcked) && len(readers) > 0 {
			part = append(part, readers[0])
		}
	}
	slices.Sort(part)
	return slices.Compact(part)
}

// open leaves out the reads of which a write is missing.
func (s *Solver) open(part []int32) []int32 {
	missing := map[int32]bool{} // values
	for _, i := range s.closed(part) {
		if _, there := slices.BinarySearch(part, i); !there && s.is(i, isWrite) {
			missing[s.value[i]] = true
		}
	}
	return slices.DeleteFunc(part, func(i int32) bool { return s.is(i, isRead) && missing[s.value[i]] })
}

// only is the solver for a part of the operations, ascending: its operation k is
// part[k].
func (s *Solver) only(part []int32) *Solver {
	return NewSolver(s.r.Only(s.r.Places(part)))
}
