//go:build linux

package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/workload/campaign"
)

// TestExitCodes: every way in which a cell can end has its code, and of two cells the
// worse decides, in whatever order they come. A violation is masked by nothing.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	rows := []struct {
		outcome campaign.Outcome
		code    int
	}{ // in the order of precedence
		{campaign.Violated, 1}, {campaign.Internal, 70}, {campaign.Interrupted, 130}, {campaign.Terminated, 143},
		{campaign.Environment, 3}, {campaign.Inconclusive, 2}, {campaign.Met, 0},
	}
	for i, a := range rows {
		if got := outcomeCode(a.outcome); got != a.code {
			t.Errorf("%s: exit %d, want %d", a.outcome, got, a.code)
		}
		for _, b := range rows[i:] {
			for _, both := range [][2]campaign.Outcome{{a.outcome, b.outcome}, {b.outcome, a.outcome}} {
				if got := outcomeCode(campaign.WorstOutcome(both[0], both[1])); got != a.code {
					t.Errorf("%v: exit %d, want %d", both, got, a.code)
				}
			}
			if got := worseCode(a.code, b.code); got != a.code {
				t.Errorf("codes %d and %d: %d", a.code, b.code, got)
			}
		}
	}
	if got := outcomeCode("something new"); got != exitInternal {
		t.Errorf("an outcome that there is not: exit %d", got)
	}
}

// TestInconclusiveIsNoSuccess, unless somebody said so; and then it is nothing else that
// passes.
func TestInconclusiveIsNoSuccess(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[campaign.Outcome]int{
		campaign.Inconclusive: 0, campaign.Violated: 1, campaign.Environment: 3, campaign.Internal: 70, campaign.Interrupted: 130, campaign.Met: 0,
	} {
		if got := campaignCode(outcome, campaign.InconclusiveWarn); got != want {
			t.Errorf("warn, %s: exit %d, want %d", outcome, got, want)
		}
		if got := campaignCode(outcome, ""); got != outcomeCode(outcome) {
			t.Errorf("%s: exit %d, want %d", outcome, got, outcomeCode(outcome))
		}
	}
}

// TestErrorsHaveCodes: what goes wrong outside of a cell.
func TestErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[checker.Verdict]int{checker.Valid: 0, checker.Invalid: 1, checker.Unknown: 2} {
		if got := verdictCode(verdict); got != want {
			t.Errorf("%s: exit %d, want %d", verdict, got, want)
		}
	}
	if got := exitCode(fmt.Errorf("judge: %w", checker.ErrDisagree)); got != exitInternal {
		t.Errorf("the judges disagree: exit %d", got)
	}
	if got := exitCode(fmt.Errorf("unknown flag")); got != exitUsage {
		t.Errorf("a mistake on the command line: exit %d", got)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errTerminated)
	if got := interruptCode(ctx); got != exitTerminated {
		t.Errorf("SIGTERM: exit %d", got)
	}
}
