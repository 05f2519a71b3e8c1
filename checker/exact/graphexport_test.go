package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
)

// What the tests of this folder look at from outside.

// Relation is the graph of one relation, with a node for every operation, or for
// every zone.
type Relation struct {
	s    *Solver
	g    *graph
	zone zoning
}

// NewRelation builds the graph of the history's own order (or of the numbers alone),
// or of the grants.
func NewRelation(r *model.Resource, grants, seqOnly, zones bool) Relation {
	s := NewSolver(r)
	rel := Relation{s: s, g: newGraph(s.n + 1), zone: s.single(s.happened)}
	if zones {
		rel.zone = s.zone
	}
	switch {
	case grants:
		s.addGrants(rel.g, rel.zone)
	case seqOnly:
		s.addNumbers(rel.g, rel.zone)
	default:
		s.addBefore(rel.g, rel.zone)
	}
	rel.g.close()
	return rel
}

// Zone is the node of an operation, -1 if it did not happen.
func (r Relation) Zone(op int) int32 { return r.zone[op] }

// From lists the nodes of operations to which a path through added nodes alone leads.
func (r Relation) From(node int32) map[int32]bool {
	found, seen := map[int32]bool{}, map[int32]bool{}
	todo := []int32{node}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		r.g.each(v, func(w int32) {
			switch {
			case w <= r.s.n:
				found[w] = true
			case !seen[w]:
				seen[w] = true
				todo = append(todo, w)
			}
		})
	}
	return found
}
