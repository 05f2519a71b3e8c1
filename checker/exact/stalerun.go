package exact

import (
	"cmp"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// arrange puts the operations of one component into an order, in place; false if that
// takes more than a look. Nearly always they are a write and a few reads of its
// value, which follow it as they were invoked.
func (s *Solver) arrange(r rules, run []int32) bool {
	zone, numbers := s.zone[run[0]], 0
	for k, i := range run {
		if s.zone[i] != zone {
			return false
		}
		if s.is(i, isWrite) {
			copy(run[1:k+1], run[:k])
			run[0] = i
		}
	}
	reads := run
	if s.is(run[0], isWrite) {
		reads = run[1:]
	}
	for _, i := range reads {
		if len(reads) < len(run) && model.Precedes(&s.ops[i], &s.ops[run[0]]) {
			return false
		}
		if s.is(i, isNumbered) {
			numbers++
		}
	}
	switch numbers {
	case 0: // ascending operations keep to real time and to their workers
	case len(reads):
		slices.SortStableFunc(reads, func(a, b int32) int { return cmp.Compare(s.ops[a].Seq, s.ops[b].Seq) })
	default:
		return false
	}
	return !r.Grants || s.forward(run)
}

// forward tells whether no counted operation comes after one of a newer grant that
// is parted from its own; false also if there are too many grants for a look.
func (s *Solver) forward(run []int32) bool {
	const few = 8
	var seen []*model.Grant
	for _, i := range run {
		if !s.is(i, isCounted) {
			continue
		}
		g := s.ops[i].Grant
		if slices.ContainsFunc(seen, func(earlier *model.Grant) bool { return model.Parted(g, earlier) }) {
			return false
		}
		if slices.Contains(seen, g) {
			continue
		}
		if seen = append(seen, g); len(seen) > few {
			return false
		}
	}
	return true
}

// settle puts the operations of each run into an order, in place, or returns a run
// that has none. The order is a topological one of the operations of all runs.
func (s *Solver) settle(r rules, runs [][]int32) (stuck []int32) {
	if len(runs) == 0 {
		return nil
	}
	in := make([]bool, s.n)
	for _, run := range runs {
		for _, i := range run {
			in[i] = true
		}
	}
	g := s.operationGraph(r, s.single(in))
	s.addValues(g, in, s.n)
	comp, _ := g.components()
	for _, run := range runs {
		slices.SortFunc(run, func(a, b int32) int { return cmp.Compare(comp[a], comp[b]) })
		for k := range run[1:] {
			if comp[run[k]] == comp[run[k+1]] {
				return run
			}
		}
	}
	return nil
}
