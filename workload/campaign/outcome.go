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
func (c Cell) judge(r checker.Result) Judged {
	if other := unexpected(r, c.Expect); other != "" {
		return Judged{Violated, other}
	}
	if c.Expect == ExpectViolation && !shown(r) {
		return Judged{Inconclusive, "the expected violation did not show"}
	}
	if r.Verdict == checker.Unknown {
		return Judged{Inconclusive, r.Why}
	}
	if why := c.missed(r.Coverage); why != "" {
		return Judged{Inconclusive, why}
	}
	return Judged{Outcome: Met}
}

// unexpected names a gate property that is invalid although the cell does not
// expect it to be.
func unexpected(r checker.Result, e Expect) string {
	for _, p := range r.Properties {
		switch {
		case !fails(p, e):
		case e == ExpectViolation && (p.Property == checker.StaleWrite || p.Property == checker.LostUpdate):
			return fmt.Sprintf("%s is invalid, and not because of a paused holder", p.Property)
		default:
			return fmt.Sprintf("%s is invalid", p.Property)
		}
	}
	return ""
}

// fails tells whether a property fails a cell that expects e.
func fails(p checker.PropertyResult, e Expect) bool {
	if e == ExpectAny || p.Role != checker.Gate || p.Verdict != checker.Invalid {
		return false
	}
	return e != ExpectViolation || !ofPause(p)
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
func (c Cell) missed(v checker.Coverage) string {
	for _, f := range []histories.F{histories.Acquire, histories.Read, histories.Write, histories.Release} {
		if v.Operations[f] == 0 {
			return fmt.Sprintf("no %s was answered ok", f)
		}
	}
	for _, f := range flooredOperations {
		if floor := c.Settings.Floors.Operations[f]; v.Operations[f] < floor {
			return fmt.Sprintf("%d times %s was answered ok, at least %d are needed", v.Operations[f], f, floor)
		}
	}
	if c.Settings.Fault == FaultNoop {
		return "no fault was injected: nothing was put to the test"
	}
	if v.Pauses == 0 {
		return "nobody was stopped"
	}
	conclusive := c.conclusive(v)
	if floor := c.Floor(); conclusive < floor {
		return fmt.Sprintf("%d conclusive trials, at least %d are needed", conclusive, floor)
	}
	if floor := c.Settings.Floors.StaleAttempts; v.StaleAttempted < floor {
		return fmt.Sprintf("%d stale writes reached the resource, at least %d are needed", v.StaleAttempted, floor)
	}
	if c.Expect == ExpectClean && c.Fence != histories.FenceOff && !c.Controlled && v.StaleRefused < NoControlRefusals {
		return fmt.Sprintf("%d stale writes were refused; without a control at least %d are needed", v.StaleRefused, NoControlRefusals)
	}
	return ""
}

// asksLost tells whether the trials put lost-update to the test and not
// stale-write: where the old holder goes on while its successor has read and not
// yet written.
func (c Cell) asksLost() bool {
	return c.Settings.Mode == workload.Directed && c.Settings.Until == UntilRead
}

// conclusive counts the trials that put the cell's question to the test.
func (c Cell) conclusive(v checker.Coverage) int {
	if c.asksLost() {
		return v.ConclusiveLost
	}
	return v.Conclusive
}

// Floor is the number of conclusive trials below which a cell proves nothing. Unless
// it is set: half of those asked for in directed mode, at most 20, and one at random.
func (c Cell) Floor() int {
	switch {
	case c.Settings.Floors.Conclusive != nil:
		return *c.Settings.Floors.Conclusive
	case c.Settings.Mode == workload.Random:
		return 1
	}
	return min(20, (c.Settings.Trials+1)/2)
}
