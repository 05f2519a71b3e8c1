package exact

import (
	"context"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// lost-update asks for an order that explains the values read and in which no other
// worker's acknowledged write lies between a write and its base.
//
// Once the values are explained, reads matter no more by themselves: the question is
// one about clusters, each a zone of the graph that all questions share (see zones),
// and the order of the operations follows from that of the zones. What a base demands
// is a set of bonds between clusters (see bond), which join gaps (see gaps), which join
// clusters to blocks (see blocks). Three layers of components decide it (see layers).
//
// A cluster is firm if its write was acknowledged, or if it is that of the initial
// value: a base is outdated where one lies between it and its write. The others are
// soft, and may lie there.
//
// Not decided are, if it matters:
//
//   - a value that was read and that was written twice, or once and was there at the start;
//   - a write based on a read of no value: that read may lie inside any cluster;
//   - unanswered writes with a base and too many places (see placing), and blocks whose
//     rims are the only thing between them (see blocks);
//   - two writes of one worker with one number: they have no order.
//
// An order is only believed once it has been replayed against the rule itself.

// lost is the question for one resource whose values are explained.
type lost struct {
	*Solver
	ctx        context.Context
	budget     *budget // for readings; shared with the regions
	order      []int32 // explains the values
	own        *ownWrites
	role       []role            // by zone
	firm       []int32           // the zones of a role, ascending
	soft       []int32           // the same
	bare       []int32           // the same
	home       map[int32]int32   // by base that is a read of no value: the cluster inside which it lies, or itself
	unanswered []int32           // writes that happened, were not answered, and have a base
	placing    map[int32]placing // by such a write
	open       []int32           // such writes that have several places
}

// finder finds the core of a question that is illegal, or that may be so: then it may
// find none.
type finder func() []int32

// decideLost answers the question of values and bases.
func (s *Solver) decideLost(ctx context.Context) model.Decision {
	plain := s.explain(ctx)
	switch plain.Answer {
	case model.Illegal:
		return illegal(s.coreOfValues(ctx, plain.Core))
	case model.Undecided:
		return plain
	}
	answer, find := newLost(ctx, s, plain.Order).decide()
	if find != nil {
		if core := find(); core != nil {
			return illegal(core)
		}
	}
	return answer
}

func newLost(ctx context.Context, s *Solver, order []int32) *lost {
	return &lost{Solver: s, ctx: ctx, order: order, budget: newBudget(s.n)}
}

// decide answers the question, but finds no core by itself.
func (l *lost) decide() (model.Decision, finder) {
	switch {
	case l.replays(l.order):
		return legal(l.order), nil
	case l.origin.several >= 0:
		return undecided(twoSources), nil
	case l.ctx.Err() != nil:
		return undecided(outOfTime), nil
	}
	l.prepare()
	return l.search()
}

func (l *lost) prepare() {
	l.cast()
	l.own = newOwnWrites(l.Solver, l.order)
	l.findPlaces()
}
