package model

import "context"

// Judgement says, for each of the two properties, whether there is an order that
// keeps it, and which question decided.
type Judgement struct {
	Stale Answer // of stale-write
	Lost  Answer // of lost-update

	StaleQuestion Question
	LostQuestion  Question
}

// Decider answers a question about one resource.
type Decider func(Question) (Answer, error)

// Judge asks Porcupine.
func (r *Resource) Judge(ctx context.Context, limits Limits) Judgement {
	j, _ := Judge(func(q Question) (Answer, error) { return r.Decide(ctx, q, limits), nil })
	return j
}

// Judge decides both properties. One order that keeps all rules answers both, and
// sound histories have one; only where there is none, or the decider can't tell, the
// questions are asked one by one. An error of the decider ends it.
func Judge(decide Decider) (Judgement, error) {
	j := Judgement{
		StaleQuestion: Question{Values: true, Grants: true},
		LostQuestion:  Question{Values: true, Bases: true},
	}
	both, err := decide(Question{Values: true, Grants: true, Bases: true})
	if err != nil || both == Legal {
		j.Stale, j.Lost = both, both
		return j, err
	}
	if j.Lost, err = decide(j.LostQuestion); err != nil {
		return j, err
	}
	err = j.judgeStale(decide)
	return j, err
}

// judgeStale: a read that no order explains is a fault of the resource itself, and
// lost-update's matter. Stale-write is then judged without the values; and if not
// even real time and the resource's numbers go together, by the numbers alone.
func (j *Judgement) judgeStale(decide Decider) (err error) {
	if j.Stale, err = decide(j.StaleQuestion); err != nil || j.Stale != Illegal || j.Lost == Legal {
		return err
	}
	explained, err := decide(Question{Values: true})
	if err != nil || explained == Legal {
		return err
	}
	if explained == Undecided {
		j.Stale = Undecided
		return nil
	}
	j.StaleQuestion = Question{Grants: true}
	together, err := decide(Question{})
	switch {
	case err != nil:
		return err
	case together == Undecided:
		j.Stale = Undecided
		return nil
	case together == Illegal:
		j.StaleQuestion.SeqOnly = true
	}
	j.Stale, err = decide(j.StaleQuestion)
	return err
}
