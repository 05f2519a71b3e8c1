package campaign

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// result builds a judgement: the verdicts of stale-write and lost-update, and their cause.
func result(stale, lost checker.Verdict, cause histories.Cause, v checker.Coverage) checker.Result {
	r := checker.Result{Verdict: checker.Worst(stale, lost), Coverage: v}
	for p, verdict := range map[checker.Property]checker.Verdict{checker.StaleWrite: stale, checker.LostUpdate: lost} {
		pr := checker.PropertyResult{Property: p, Verdict: verdict, Role: checker.Gate, Checked: 1}
		if verdict == checker.Invalid {
			pr.Cause = cause
		}
		r.Properties = append(r.Properties, pr)
	}
	return r
}

// enough is the coverage of a good cell.
func enough(change func(*checker.Coverage)) checker.Coverage {
	v := checker.Coverage{
		Operations: map[histories.F]int{histories.Acquire: 1, histories.Read: 1, histories.Write: 1, histories.Release: 1},
		Pauses:     24, Conclusive: 24, ConclusiveLost: 24, StaleRefused: 24,
	}
	if change != nil {
		change(&v)
	}
	return v
}

// What each kind of result means for a cell of each expectation.
func TestJudge(t *testing.T) {
	t.Parallel()
	valid, invalid, unknown := checker.Valid, checker.Invalid, checker.Unknown
	paused := histories.CausePaused
	other := result(valid, valid, "", enough(nil))
	other.Properties = append(other.Properties, checker.PropertyResult{Property: "exclusion", Verdict: invalid, Role: checker.Gate, Checked: 1})
	told := result(valid, valid, "", enough(nil))
	told.Properties = append(told.Properties, checker.PropertyResult{Property: "belief", Verdict: invalid, Role: checker.Report, Checked: 1})
	for name, c := range map[string]struct {
		expect     Expect
		controlled bool
		r          checker.Result
		change     func(*Settings)
		want       Outcome
		why        string
	}{
		"clean and clean":            {expect: ExpectClean, r: result(valid, valid, "", enough(nil)), want: Met},
		"clean, violated":            {expect: ExpectClean, r: result(invalid, valid, paused, enough(nil)), want: Violated, why: "stale-write"},
		"clean, undecided":           {expect: ExpectClean, r: result(unknown, valid, "", enough(nil)), want: Inconclusive},
		"violation, shown":           {expect: ExpectViolation, r: result(invalid, invalid, paused, enough(nil)), want: Met},
		"violation, half of it":      {expect: ExpectViolation, r: result(valid, invalid, paused, enough(nil)), want: Met},
		"violation, not shown":       {expect: ExpectViolation, r: result(valid, valid, "", enough(nil)), want: Inconclusive, why: "did not show"},
		"violation, below the floor": {expect: ExpectViolation, r: result(invalid, invalid, paused, enough(func(v *checker.Coverage) { v.Conclusive = 11 })), want: Inconclusive, why: "at least 12"},
		"violation, for no pause":    {expect: ExpectViolation, r: result(invalid, valid, "", enough(nil)), want: Violated},
		"control that double-grants": {expect: ExpectViolation, r: other, want: Violated, why: "exclusion"},
		"a report gates nothing":     {expect: ExpectClean, r: told, want: Met},
		"anything, violated":         {expect: ExpectAny, r: result(invalid, valid, "", enough(nil)), want: Met},
		"anything but nothing":       {expect: ExpectAny, r: result(valid, valid, "", checker.Coverage{}), want: Inconclusive},

		"no fault": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Pauses = 0 })),
			change: func(p *Settings) { p.Fault = FaultNoop }, want: Inconclusive, why: "no fault"},
		"nobody stopped":               {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Pauses = 0 })), want: Inconclusive, why: "nobody was stopped"},
		"one trial short of the floor": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Conclusive = 11 })), want: Inconclusive, why: "at least 12"},
		"just the floor":               {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Conclusive = 12 })), want: Met},
		"nobody wrote":                 {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { delete(v.Operations, histories.Write) })), want: Inconclusive, why: "no write"},
		"no control, few refusals": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.StaleRefused = 19 })),
			want: Inconclusive, why: "without a control"},
		"no control, enough refusals": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.StaleRefused = 20 })),
			want: Met},
		"control beside it, few refusals": {expect: ExpectClean, controlled: true, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.StaleRefused = 19 })), want: Met},
		"a floor of its own": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Conclusive = 3 })),
			change: func(p *Settings) { three := 3; p.Floors.Conclusive = &three }, want: Met},
		"a floor of its own, missed": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Conclusive = 12 })),
			change: func(p *Settings) { many := 13; p.Floors.Conclusive = &many }, want: Inconclusive, why: "at least 13"},
		"few stale attempts": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.StaleAttempted = 4 })),
			change: func(p *Settings) { p.Floors.StaleAttempts = 5 }, want: Inconclusive, why: "4 stale writes"},
		"few operations": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.Operations[histories.Renew] = 4 })),
			change: func(p *Settings) { p.Floors.Operations = map[histories.F]int{histories.Renew: 5} }, want: Inconclusive, why: "4 times renew"},
		// A violation is told even where the floors were missed.
		"violated, and below the floor": {expect: ExpectClean, r: result(invalid, valid, paused, checker.Coverage{}), want: Violated},
		// Until the successor has read, the question is the lost update.
		"until read, other trials": {expect: ExpectClean, r: result(valid, valid, "", enough(func(v *checker.Coverage) { v.ConclusiveLost = 0 })),
			change: func(p *Settings) { p.Until = UntilRead }, want: Inconclusive, why: "0 conclusive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := Default().Settings
			if c.change != nil {
				c.change(&settings)
			}
			got := Cell{Expect: c.expect, Fence: histories.FenceAll, Controlled: c.controlled, Settings: settings}.judge(c.r)
			if got.Outcome != c.want || !strings.Contains(got.Why, c.why) {
				t.Errorf("got %+v, want %s (%s)", got, c.want, c.why)
			}
		})
	}
}

// 1 > 70 > 130, 143 > 3 > 2 > 0, whichever comes first.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	order := []Outcome{Violated, Internal, Interrupted, Terminated, Environment, Inconclusive, Met}
	for i, weaker := range order {
		for _, stronger := range order[:i+1] {
			if got := WorstOutcome(weaker, stronger); got != stronger {
				t.Errorf("%s and %s: %s", weaker, stronger, got)
			}
			if got := WorstOutcome(stronger, weaker); got != stronger {
				t.Errorf("%s and %s: %s", stronger, weaker, got)
			}
		}
	}
}
