package model

import (
	"context"
	"math"

	"github.com/leasehold-checker/leasehold/checker/internal/jit"
)

// DecideJIT answers a question by just-in-time linearization, on the intervals and
// the step that Porcupine gets. It can do many histories that Porcupine can't, and
// few operations at once of any length; what it finds illegal is a beginning of the
// history, together with the later writes of values read in it.
func (r *Resource) DecideJIT(ctx context.Context, q Question, limits Limits) Decision {
	if ctx.Err() != nil {
		return Decision{Why: timeLimit}
	}
	t := newTask(ctx, r, q)
	switch {
	case t.over:
		return Decision{Why: timeLimit}
	case t.unready:
		return Decision{Why: tooTangled}
	case t.impossible:
		return Decision{Answer: Illegal, Core: t.r.Closed(t.Question, t.in)}
	}
	in := t.useful()
	answer := jit.Decide(ctx, t.problem(in), jit.Limits{Steps: limits.steps(len(in)), Memory: limits.memory()})
	switch {
	case !answer.Decided:
		return Decision{Why: answer.Why}
	case answer.Order != nil:
		return Decision{Answer: Legal, Order: t.completed(pick(in, answer.Order))}
	}
	return Decision{Answer: Illegal, Core: t.beginning(ctx, pick(in, answer.Failed), limits)}
}

// beginning is a part that is illegal by itself: what failed, with all that made it
// fail. With numbers, that can be more than the beginning: an operation has to end in
// time because of a later one with a number, or waits for one that a later one with a
// number holds back. So it is asked again, and if it is legal the core is everything.
func (t *task) beginning(ctx context.Context, failed []int32, limits Limits) []int32 {
	core := t.r.Closed(t.Question, failed)
	if len(core) == len(t.ops) || !t.ranked {
		return core
	}
	if part := t.r.Only(t.r.Places(core)); part.DecideJIT(ctx, t.Question, limits).Answer == Illegal {
		return core
	}
	return t.everything()
}

// What stands in the way of a search.
const (
	timeLimit  = "the time limit"
	tooTangled = "thousands of overlapping operations, only some of which have a number"
)

func pick(in, chosen []int32) []int32 {
	out := make([]int32, len(chosen))
	for k, c := range chosen {
		out[k] = in[c]
	}
	return out
}

// useful leaves out the writes that may not have happened and were called after the
// last read of their value was over.
func (t *task) useful() []int32 {
	t.lastRead = make([]int64, len(t.reads))
	for v, reads := range t.reads {
		t.lastRead[v] = math.MinInt64
		for _, read := range reads {
			t.lastRead[v] = max(t.lastRead[v], t.ret[read])
		}
	}
	in := make([]int32, 0, len(t.in))
	for _, i := range t.in {
		if !t.unsure[i] || t.call[i] <= t.lastRead[t.ops[i].Value] {
			in = append(in, i)
		}
	}
	return in
}

// problem is the task in other words: what a write needs stands with the operations
// instead of in marks of the state.
func (t *task) problem(in []int32) jit.Problem[State] {
	place := make([]int32, len(t.ops))
	for k, i := range in {
		place[i] = int32(k)
	}
	operations := make([]jit.Operation, len(in))
	twins := map[effect]int32{}
	for k, i := range in {
		o := jit.Operation{Call: t.call[i], Return: t.ret[i], Optional: t.unsure[i], Observer: t.observes(i), Twin: -1}
		for _, bit := range t.needs[i] {
			o.Needs = append(o.Needs, place[t.marked[bit]])
		}
		if o.Optional {
			if o.Return = t.lastRead[t.ops[i].Value]; len(o.Needs) == 0 {
				o.Twin = numberOf(twins, t.effectOf(i))
			}
		}
		operations[k] = o
	}
	s := *t.spec
	s.unsure, s.mark, s.needs = nil, nil, nil
	start := t.start
	start.placed = ""
	return jit.Problem[State]{
		Operations: operations, Start: start,
		Step: func(st State, k int32) (State, bool) { return s.take(st, int(in[k])) },
		Size: func(st State) int { return len(st.fronts) + len(st.fresh) },
	}
}

// observes: a read or an open does nothing but touch the resource, and a touch that
// adds nothing adds nothing later (see front). A write may leave the value as it is
// and yet be wanted later; without values and bases it is a touch like any other.
func (t *task) observes(i int32) bool { return !t.ops[i].Write || !t.Values && !t.Bases }

// effect is all that an unanswered write does, and all that can hinder it.
type effect struct {
	value int32
	grant *Grant
	base  int32
}

func (t *task) effectOf(i int32) effect { return effect{t.ops[i].Value, t.ops[i].Grant, t.ops[i].Base} }

func numberOf(twins map[effect]int32, e effect) int32 {
	if _, known := twins[e]; !known {
		twins[e] = int32(len(twins))
	}
	return twins[e]
}

// completed adds the acknowledged operations that the task left out, because no rule
// of the question looks at them: they may stand anywhere.
func (t *task) completed(order []int32) []int32 {
	in := make([]bool, len(t.ops))
	for _, i := range order {
		in[i] = true
	}
	for i := range t.ops {
		if t.ops[i].Acked && !in[i] {
			order = append(order, int32(i))
		}
	}
	return order
}
