package model

import "context"

// Judgement is what Porcupine says of one resource.
type Judgement struct {
	Stale Answer // of stale-write
	Lost  Answer // of lost-update

	// StaleQuestion and LostQuestion are the questions that decided.
	StaleQuestion Question
	LostQuestion  Question
}

// Judge decides both properties. One order that keeps all rules answers both, and
// sound histories have one; only where there is none, the questions are asked one
// by one.
func (r *Resource) Judge(ctx context.Context, limits Limits) Judgement {
	j := Judgement{
		StaleQuestion: Question{Values: true, Grants: true},
		LostQuestion:  Question{Values: true, Bases: true},
	}
	if r.Decide(ctx, Question{Values: true, Grants: true, Bases: true}, limits) == Legal {
		j.Stale, j.Lost = Legal, Legal
		return j
	}
	j.Lost = r.Decide(ctx, j.LostQuestion, limits)
	j.Stale, j.StaleQuestion = r.judgeStale(ctx, limits, j.Lost == Legal)
	return j
}

// judgeStale: a read that no order explains is a fault of the resource itself, and
// lost-update's matter. Stale-write is then judged without the values; and if not
// even real time and the resource's numbers go together, by the numbers alone.
func (r *Resource) judgeStale(ctx context.Context, limits Limits, explained bool) (Answer, Question) {
	withValues, withoutValues := Question{Values: true, Grants: true}, Question{Grants: true}
	answer := r.Decide(ctx, withValues, limits)
	if answer != Illegal || explained {
		return answer, withValues
	}
	switch r.Decide(ctx, Question{Values: true}, limits) {
	case Legal:
		return Illegal, withValues
	case Undecided:
		return Undecided, withValues
	}
	switch r.Decide(ctx, Question{}, limits) {
	case Legal:
		return r.Decide(ctx, withoutValues, limits), withoutValues
	case Undecided:
		return Undecided, withoutValues
	}
	byNumber := Question{Grants: true, SeqOnly: true}
	return r.Decide(ctx, byNumber, limits), byNumber
}
