package exact

import (
	"context"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// rules say what an order has to be true to.
type rules struct {
	model.Question
	in []bool // by operation: it has to be in the order
}

// decideOrder answers the questions without bases.
//
// Where a value may come from several writes, it is left open which: what has no
// order then has none, and an order is one if it happens to explain those values, too.
func (s *Solver) decideOrder(ctx context.Context, q model.Question) model.Decision {
	if q.Values && s.origin.orphan >= 0 {
		return illegal([]int32{s.origin.orphan})
	}
	r := rules{Question: q, in: s.happened}
	if !q.Values {
		r.in = s.acknowledged()
	}
	order, stuck := s.find(ctx, r)
	switch {
	case ctx.Err() != nil:
		return undecided(outOfTime)
	case stuck != nil:
		return illegal(s.core(ctx, r, stuck))
	case q.Values && s.origin.several >= 0 && !s.agrees(order):
		return undecided(twoSources)
	}
	d := legal(order)
	if q.Values { // the same order explains the values without grants
		s.plain = &d
	}
	return d
}

// explain answers whether an order explains the values read, without grants, once.
func (s *Solver) explain(ctx context.Context) model.Decision {
	if s.plain != nil {
		return *s.plain
	}
	d := s.decideOrder(ctx, model.Question{Values: true})
	if ctx.Err() == nil {
		s.plain = &d
	}
	return d
}

func (s *Solver) acknowledged() []bool {
	in := make([]bool, s.n)
	for i := range s.n {
		in[i] = s.is(i, isAcked)
	}
	return in
}

// agrees tells whether every read in an order returns the last value written.
func (s *Solver) agrees(order []int32) bool {
	value := s.r.InitialValue()
	for _, i := range order {
		switch v := s.value[i]; {
		case s.is(i, isWrite):
			value = v
		case v >= 0 && v != value:
			return false
		}
	}
	return true
}
