package exact

import (
	"context"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// Solver answers questions about one resource: stale-write (whether an order keeps
// to the grants) and lost-update (whether an order leaves writes on their bases),
// exactly and in O(n log n). The questions share what they have in common, so asking
// one Solver for all of them is cheaper than a Solver for each.
//
// A Solver must not be used by two goroutines at once.
type Solver struct {
	r   *model.Resource
	ops []model.Operation
	columns
	n        int32 // number of operations
	numbers  int32 // how many of them have a number
	origin   *origins
	happened []bool // by operation: acknowledged, or a write whose value was read
	zone     zoning // of what happened: clusters are contracted (see zones)

	zoned *graph          // see zones; built on demand
	plain *model.Decision // see explain; once asked
}

// NewSolver readies the questions about one resource.
func NewSolver(r *model.Resource) *Solver {
	s := &Solver{r: r, ops: r.Operations(), n: int32(len(r.Operations())), columns: newColumns(r.Operations())}
	s.traceValues()
	s.happened = make([]bool, s.n)
	for i := range s.n {
		s.happened[i] = s.is(i, isAcked) || len(s.origin.readers(i)) > 0
		if s.is(i, isNumbered) {
			s.numbers++
		}
	}
	s.zone = s.contracted()
	return s
}

// contracted gives the operations of a cluster one node, their write's (the initial
// value's is n), and the others that happened one of their own.
func (s *Solver) contracted() zoning {
	zone := make([]int32, s.n)
	for i := range zone {
		switch from := s.origin.of[i]; {
		case !s.happened[i]:
			zone[i] = -1
		case from >= 0:
			zone[i] = from
		case from == fromInitial:
			zone[i] = s.n
		default:
			zone[i] = int32(i)
		}
	}
	return zone
}

// isCluster tells a cluster's zone from that of an operation that stands alone.
func (s *Solver) isCluster(zone int32) bool { return zone == s.n || s.is(zone, isWrite) }

// Decide answers one question, with a proof. The answer is Undecided if the
// context ends before, where a value that was read may come from several writes, and
// for questions that are not asked of real histories (grants and bases at once,
// values by the numbers alone).
func (s *Solver) Decide(ctx context.Context, q model.Question) model.Decision {
	switch {
	case q.Bases && (q.Grants || q.SeqOnly || !q.Values), q.SeqOnly && q.Values:
		return undecided("these rules are not judged together")
	case q.Bases:
		return s.decideLost(ctx)
	case q == model.Question{Values: true}:
		return s.explain(ctx)
	}
	return s.decideOrder(ctx, q)
}

func undecided(why string) model.Decision {
	return model.Decision{Answer: model.Undecided, Why: why}
}

func legal(order []int32) model.Decision { return model.Decision{Answer: model.Legal, Order: order} }

func illegal(core []int32) model.Decision { return model.Decision{Answer: model.Illegal, Core: core} }

// zones is the graph of what must come before what among zones, without grants: the
// history's own order, and the initial value before every other one. It is shared;
// fork it before adding to it.
func (s *Solver) zones() *graph {
	if s.zoned == nil {
		s.zoned = newGraph(s.n + 1)
		s.addBefore(s.zoned, s.zone)
		s.zoned.close()
		begun := layer{first: s.n, start: make([]int32, 2)}
		for i := range s.n {
			if s.is(i, isWrite) && s.happened[i] {
				begun.adj = append(begun.adj, i)
			}
		}
		begun.start[1] = int32(len(begun.adj))
		s.zoned.layers = append(s.zoned.layers, begun)
	}
	return s.zoned
}
