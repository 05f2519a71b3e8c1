package campaign

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
)

// Outcome is how a cell or a campaign ended.
type Outcome string

// The outcomes.
const (
	Met          Outcome = "met"          // as expected, and every floor was reached
	Violated     Outcome = "violation"    // a violation where none was expected
	Inconclusive Outcome = "inconclusive" // unknown, a floor missed, an expected violation that did not show
	Environment  Outcome = "environment"  // store, resource or worker did not start; cleaning up failed
	Internal     Outcome = "internal"     // a bug of ours: the judges disagree, or a panic
	Interrupted  Outcome = "interrupted"  // SIGINT
	Terminated   Outcome = "terminated"   // SIGTERM
)

// precedence of outcomes: the first of two wins. A violation is never masked.
var precedence = [...]Outcome{Violated, Internal, Interrupted, Terminated, Environment, Inconclusive, Met}

// WorstOutcome returns the one that decides.
func WorstOutcome(a, b Outcome) Outcome {
	for _, o := range precedence {
		if a == o || b == o {
			return o
		}
	}
	return a
}

// Judged compares a result with what the cell was to show.
type Judged struct {
	Outcome Outcome
	Why     string // not Met: in one clause
}

// NoControlRefusals is how many refused stale writes a fenced cell needs when it
// has no control beside it.
const NoControlRefusals = 20

// judge says whether the cell showed what it was to show.
func (p *Plan) judge(c Cell, r checker.Result) Judged {
	if other := unexpected(r, c.Expect); other != "" {
		return Judged{Violated, other}
	}
	if c.Expect == ExpectViolation && !shown(r) {
		return Judged{Inconclusive, "the expected violation did not show"}
	}
	if r.Verdict == checker.Unknown {
		return Judged{Inconclusive, r.Why}
	}
	if why := p.missed(c, r.Coverage); why != "" {
		return Judged{Inconclusive, why}
	}
	return Judged{Outcome: Met}
}

// unexpected names a gate property that is invalid although the cell does not
// expect it to be.
func unexpected(r checker.Result, e Expect) string {
	if e == ExpectAny {
		return ""
	}
	for _, p := range r.Properties {
		if p.Role != checker.Gate || p.Verdict != checker.Invalid {
			continue
		}
		if e == ExpectViolation && ofPause(p) {
			continue
		}
		if e == ExpectViolation && (p.Property == checker.StaleWrite || p.Property == checker.LostUpdate) {
			return fmt.Sprintf("%s is invalid, and not because of a paused holder", p.Property)
		}
		return fmt.Sprintf("%s is invalid", p.Property)
	}
	return ""
}

// ofPause tells whether the property fails because of a paused holder, the one
// violation that can be expected.
func ofPause(p checker.PropertyResult) bool {
	return (p.Property == checker.StaleWrite || p.Property == checker.LostUpdate) &&
		p.Verdict == checker.Invalid && p.Cause == histories.CausePaused
}

func shown(r checker.Result) bool {
	for _, p := range r.Properties {
		if ofPause(p) {
			return true
		}
	}
	return false
}

// missed names the first floor that a cell did not reach.
func (p *Plan) missed(c Cell, v checker.Coverage) string {
	for _, f := range []histories.F{histories.Acquire, histories.Read, histories.Write, histories.Release} {
		if v.Operations[f] == 0 {
			return fmt.Sprintf("no %s was answered ok", f)
		}
	}
	if p.Config.Fault == FaultNoop {
		return "no fault was injected: nothing was put to the test"
	}
	if v.Pauses == 0 {
		return "nobody was stopped"
	}
	conclusive := p.conclusive(v)
	if floor := p.Floor(); conclusive < floor {
		return fmt.Sprintf("%d conclusive trials, at least %d are needed", conclusive, floor)
	}
	if c.Expect == ExpectClean && c.Fence != histories.FenceOff && !c.Controlled && v.StaleRefused < NoControlRefusals {
		return fmt.Sprintf("%d stale writes were refused; without a control at least %d are needed", v.StaleRefused, NoControlRefusals)
	}
	return ""
}

// asksLost tells whether the trials put lost-update to the test and not
// stale-write: where the old holder goes on while its successor has read and not
// yet written.
func (p *Plan) asksLost() bool {
	return p.Config.Mode == workload.Directed && p.Config.Until == UntilRead
}

// conclusive counts the trials that put the cell's question to the test.
func (p *Plan) conclusive(v checker.Coverage) int {
	if p.asksLost() {
		return v.ConclusiveLost
	}
	return v.Conclusive
}

// Floor is the number of conclusive trials below which a cell proves nothing: half of those asked for in directed mode, at most 20, and one at random.
func (p *Plan) Floor() int {
	if p.Config.Mode == workload.Random {
		return 1
	}
	return min(20, (p.Config.Trials+1)/2)
}
