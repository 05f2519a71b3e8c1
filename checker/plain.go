package checker

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// maxPlain is how many operations a history has at most that is judged a second time as
// a whole, by the rules word for word.
const maxPlain = 48

// plainRule is the rule about a property word for word; nil if there is none.
func (p Property) plainRule() func(*exact.Plain) exact.PlainAnswer {
	switch p {
	case Exclusion:
		return (*exact.Plain).Exclusion
	case TokenOrder:
		return (*exact.Plain).TokenOrder
	case OverFencing:
		return (*exact.Plain).OverFencing
	case Hold:
		return (*exact.Plain).Hold
	case LiveGrant:
		return (*exact.Plain).LiveGrant
	case Belief:
		return (*exact.Plain).Belief
	case Progress:
		return (*exact.Plain).Progress
	}
	return nil
}

// confirmPlainly holds the result of a property of the grants against the rule word for
// word. Every violation that is told, closed up with what may excuse it, must be invalid
// as a history of its own; and a small history must get the same verdict as a whole. The
// error is ErrDisagree.
func confirmPlainly(l *exact.Ledger, r *PropertyResult) error {
	rule := r.Property.plainRule()
	if rule == nil {
		return nil
	}
	for i := range r.Witnesses {
		w := &r.Witnesses[i]
		alone := closedUp(l, r.Property, w)
		if alone == nil {
			continue
		}
		b, err := model.Resolve(alone)
		if err != nil {
			return fmt.Errorf("confirm operations %v: %w: %w", w.Core, ErrDisagree, err)
		}
		if !rule(exact.NewPlain(b)).Invalid {
			return fmt.Errorf("confirm operations %v: not invalid by the rule word for word: %w", w.Core, ErrDisagree)
		}
	}
	if len(l.Book().History.Ops) > maxPlain {
		return nil
	}
	if answer := rule(exact.NewPlain(l.Book())); !agrees(r, answer) {
		return fmt.Errorf("confirm verdict %s: the rule word for word says %+v: %w", r.Verdict, answer, ErrDisagree)
	}
	return nil
}

// closedUp is the violation as a history of its own, nil if that would be too large for
// the rule word for word. What excuses a lock that does not
// pass on is anything that was done on it.
func closedUp(l *exact.Ledger, p Property, w *Witness) *histories.History {
	if p == Progress {
		return witness.ClosedLock(l, w.Lock, w.Core, witness.MaxWatched)
	}
	return witness.Closed(l, w.Core)
}

// agrees tells whether a result is what the rule says of the whole history. It is small:
// no time limit has ended the judgement.
func agrees(r *PropertyResult, answer exact.PlainAnswer) bool {
	switch {
	case answer.Invalid:
		return r.Verdict == Invalid
	case answer.Uncertain:
		return r.Verdict == Unknown
	}
	return r.Verdict == Valid
}
