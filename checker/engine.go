package checker

import (
	"context"
	"fmt"
	"sync"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
)

// engine answers questions about one resource. It is Undecided, with a reason, where
// it can't: by its nature, or within its budget. Budgets are counted in work and
// memory, never in time, so that an answer depends on the history alone; the context
// is the last resort.
type engine interface {
	name() string
	decide(ctx context.Context, q model.Question) model.Decision
}

// guesser is an engine whose proof may be none: then it has said nothing.
type guesser interface{ guesses() }

// byNumber is the order that the resource itself names. It is the same whatever is
// asked.
type byNumber struct {
	r     *model.Resource
	order func() model.Decision
}

func newByNumber(ctx context.Context, r *model.Resource) byNumber {
	return byNumber{r, sync.OnceValue(func() model.Decision { return r.DecideByNumber(ctx) })}
}

func (e byNumber) name() string { return "the resource's own numbers" }

func (e byNumber) guesses() {}

func (e byNumber) decide(context.Context, model.Question) model.Decision { return e.order() }

// solver is the exact one, which takes nearly linear time. Its questions share a graph,
// which is made once one is asked.
type solver struct{ made func() *exact.Solver }

func newSolver(r *model.Resource) solver {
	return solver{sync.OnceValue(func() *exact.Solver { return exact.NewSolver(r) })}
}

func (e solver) name() string { return "the exact solver" }

func (e solver) decide(ctx context.Context, q model.Question) model.Decision {
	return e.made().Decide(ctx, q)
}

// Budgets of a search. Searches within the small one run side by side; those with
// the large one take turns, so that what they remember is there only once.
const (
	smallMemory = 16 << 20
	smallSteps  = 200_000
	largeMemory = 256 << 20
)

// turns lets one through at a time.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// take tells whether it is one's turn: false if ctx ended before.
func (t turns) take(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t turns) give() { <-t }

// inTime is the just-in-time search.
type inTime struct {
	r     *model.Resource
	turns turns
}

func (e inTime) name() string { return "the just-in-time search" }

func (e inTime) decide(ctx context.Context, q model.Question) model.Decision {
	small := model.Limits{Memory: smallMemory, Steps: smallSteps + 60*len(e.r.Ops)}
	d := e.r.DecideJIT(ctx, q, small)
	if d.Answer == model.Undecided && e.turns.take(ctx) {
		d = e.r.DecideJIT(ctx, q, model.Limits{Memory: largeMemory})
		e.turns.give()
	}
	if d.Answer == model.Illegal {
		d.Core = shrink(ctx, e.r, d.Core, func(part *model.Resource) bool {
			return part.DecideJIT(ctx, q, small).Answer == model.Illegal
		})
	}
	return d
}

// authority is Porcupine. What it finds illegal it gives no reason for, so a part is
// looked for that is illegal by itself.
type authority struct {
	r     *model.Resource
	turns turns
}

func (e authority) name() string { return "Porcupine" }

// maxPorcupine is the number of operations from which on Porcupine can't remember
// enough states to get anywhere: each takes a bit for every operation.
const maxPorcupine = 20_000

func (e authority) decide(ctx context.Context, q model.Question) model.Decision {
	if n := len(e.r.Ops); n > maxPorcupine {
		return model.Decision{Why: fmt.Sprintf("%d operations, too many for Porcupine", n)}
	}
	if !e.turns.take(ctx) {
		return model.Decision{Why: timeLimit}
	}
	defer e.turns.give()
	d := e.r.DecidePorcupine(ctx, q, model.Limits{Memory: largeMemory})
	if d.Answer == model.Illegal {
		d.Core = shrink(ctx, e.r, d.Core, func(part *model.Resource) bool {
			return part.Decide(ctx, q, model.Limits{Memory: smallMemory}) == model.Illegal
		})
	}
	return d
}

// shrink makes a core (indices into the resource's operations) smaller.
func shrink(ctx context.Context, r *model.Resource, core []int32, illegal func(*model.Resource) bool) []int32 {
	return indices(r, witness.Shrink(ctx, r, r.Places(core), illegal))
}

// indices into the resource's operations, of places in History.Ops; both ascending.
func indices(r *model.Resource, places []int) []int32 {
	out := make([]int32, 0, len(places))
	for i, at := range r.Ops {
		if len(out) < len(places) && places[len(out)] == at {
			out = append(out, int32(i))
		}
	}
	return out
}
