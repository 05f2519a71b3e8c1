package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Guarded is what [Hold] found out.
type Guarded struct {
	Checked int       // accepted operations that were judged
	Outside []Outside // those that were not inside a hold, in the order of their invocations
	// Doubt is the first operation that may be outside: it was not answered, or the
	// release before it was not. Nil if there is none.
	Doubt *Outside
}

// Outside is an operation on a resource that breaks the rule of holds.
type Outside struct {
	Op      int          // place in History.Ops
	Grant   *model.Grant // to which it belongs; nil: its worker had none
	Fault   HoldFault
	Release int // the release that ended the hold: place in History.Ops; -1 if none certainly did
}

// HoldFault says what is wrong with an operation.
type HoldFault int

// The four ways to act outside a hold.
const (
	NoGrant         HoldFault = iota // its worker was never granted the lock, or not under that name
	Released                         // the grant had been given back
	BorrowedToken                    // it sent a token that is not the grant's own
	ForeignDecision                  // the value was decided under another grant
)

// Hold judges the accepted operations on guarded resources: writes and opens, and
// the reads that name a token or a grant. Each must come after an ok acquire of its
// worker and before that worker invokes a release that is answered ok, with that
// grant's own token, decided under that grant.
//
// The grants that one worker got with one token count as one: the hold lasts as long
// as any of them. That a lease had run out, or that its worker was told so, ends no
// hold here: a write that was on its way then is no fault of its sender.
//
// What may have happened is a doubt: an operation without an answer that would be a
// fault, and one after a release without an answer.
func Hold(l *Ledger) Guarded {
	j := &guards{Ledger: l, kin: make(map[*hold]*kin, len(l.holds))}
	for _, own := range l.own {
		j.joinKin(own)
	}
	for i := range l.book.History.Ops {
		// In a history without any lock, registers are guarded by nothing.
		if o := &l.book.History.Ops[i]; j.asks(o) && l.book.Lock(i) != "" {
			j.judge(i, o)
		}
	}
	return j.Guarded
}

type guards struct {
	*Ledger
	Guarded
	kin map[*hold]*kin
}

// asks tells whether the rule is about an operation: it is guarded, and it was
// accepted or may have been.
func (j *guards) asks(o *histories.Operation) bool {
	switch {
	case !o.ByWorker() || !o.F.OnResource() || o.Type == histories.Fail:
		return false
	case o.F == histories.Read:
		return o.Token.Known() || o.Grant != ""
	}
	return true
}

func (j *guards) judge(i int, o *histories.Operation) {
	found, answer := j.fault(i, o)
	accepted := o.Type == histories.OK
	switch {
	case answer == inside:
	case accepted && answer == outside:
		j.Outside = append(j.Outside, found)
	case j.Doubt == nil:
		j.Doubt = &found
	}
	if accepted {
		j.Checked++
	}
}

// holdAnswer says whether an operation, if it was accepted, was inside its hold.
type holdAnswer int

const (
	inside  holdAnswer = iota
	perhaps            // a release that has no answer was before it
	outside
)

func (j *guards) fault(i int, o *histories.Operation) (found Outside, answer holdAnswer) {
	g := j.book.Own(i)
	found = Outside{Op: i, Grant: g, Fault: NoGrant, Release: -1}
	if g == nil {
		return found, outside
	}
	release, maybe := j.kin[j.holds[g]].givenBack(i)
	under := j.book.Under(i)
	switch {
	case release >= 0:
		found.Fault, found.Release = Released, release
	case o.Token.Known() && o.Token != g.Token:
		found.Fault = BorrowedToken
	case o.F == histories.Write && under != g && !sameToken(under, g):
		found.Fault = ForeignDecision
	case maybe:
		found.Fault = Released
		return found, perhaps
	default:
		return found, inside
	}
	return found, outside
}

func sameToken(a, g *model.Grant) bool {
	return a != nil && a.Worker == g.Worker && a.Lock == g.Lock && a.Token.Known() && a.Token == g.Token
}
