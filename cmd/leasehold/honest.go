//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
)

// leastTakeovers is how many takeovers by expiry a lock name needs in a run before
// the run says anything about the store's honesty.
const leastTakeovers = 5

// newHonest is hidden: it is how we know that the judge does not cry wolf.
func newHonest() *cobra.Command {
	o := runOptions{Config: campaign.Default()}
	runs := 10
	cmd := &cobra.Command{
		Use:    "honest",
		Short:  "Run honest, fenced locks over and over, and count false alarms",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return honest(cmd, &o, runs) },
	}
	o.Name, o.Fences, o.Guards, o.NoControl = "honest", []histories.Fence{histories.FenceAll}, []workload.Guard{workload.GuardNone}, true
	o.LockNames, o.Trials, o.quiet = 4, 24, true
	o.Locks = []string{"etcd-mutex", "redis-counter", "zk-recipe", "pg-row", "nats-kv"}
	cmd.Flags().IntVar(&runs, "runs", runs, "cells to run, all locks together")
	cmd.Flags().StringSliceVar(&o.Locks, "lock", o.Locks, "locks to run")
	cmd.Flags().StringVar(&o.Out, "out", o.Out, "folder of the run directories")
	bindStore(cmd.Flags(), &o.Config)
	return cmd
}

// tallied is what came of all runs of one lock.
type tallied struct {
	runs, few, violations int
	takeovers             int
	exclusion, order      int // cases judged
	margin                int64
}

func honest(cmd *cobra.Command, o *runOptions, runs int) error {
	tallies := map[string]*tallied{}
	// What was counted is printed however the rounds end: an hour of them is evidence,
	// also if somebody interrupts it.
	ended := honestRounds(cmd, o, runs, tallies)
	judged := printTallies(cmd.OutOrStdout(), o.Locks, tallies)
	if judged != nil && (ended == nil || exitCode(judged) == exitViolation) {
		return judged
	}
	return ended
}

func honestRounds(cmd *cobra.Command, o *runOptions, runs int, tallies map[string]*tallied) error {
	cat := catalog.All()
	for done := 0; done < runs; done += len(o.Locks) {
		o.Seed = drawSeed()
		plan, err := campaign.NewPlan(o.Config, cat)
		if err != nil {
			return withCode(exitUsage, err)
		}
		s, err := o.carryOut(cmd, plan, cat)
		if interruption(cmd.Context()) != "" { // its cells were cut short: no evidence
			return withCode(outcomeCode(interruption(cmd.Context())), fmt.Errorf("interrupted after %d of %d runs", done, runs))
		}
		if err != nil || s == nil {
			return withCode(exitEnvironment, err)
		}
		bad := false
		for i := range s.Cells {
			seen, err := tally(tallies, s.Dir, &s.Cells[i])
			if err != nil {
				return withCode(exitInternal, err)
			}
			bad = bad || seen
		}
		if !bad { // nothing to look at: 200 run directories would fill the disk
			if err := os.RemoveAll(s.Dir); err != nil {
				return withCode(exitEnvironment, err)
			}
		}
	}
	return nil
}

// tally adds a cell to its lock's tally, and tells whether it is worth a look.
func tally(tallies map[string]*tallied, dir string, c *report.Cell) (bool, error) {
	text, err := os.ReadFile(filepath.Join(dir, c.Dir, report.FileResult))
	if err != nil {
		return false, fmt.Errorf("read result: %w", err)
	}
	var r checker.Result
	if err := json.Unmarshal(text, &r); err != nil {
		return false, fmt.Errorf("read result: %w", err)
	}
	t := tallies[c.Lock]
	if t == nil {
		t = &tallied{margin: histories.Never}
		tallies[c.Lock] = t
	}
	byName := map[string]int{}
	for _, trial := range r.Coverage.Trials {
		if trial.Takeover {
			byName[trial.Lock]++
			t.takeovers++
		}
	}
	few := len(byName) == 0
	for _, n := range byName {
		few = few || n < leastTakeovers
	}
	violations := 0
	for _, p := range r.Properties {
		violations += p.Violations
		switch p.Property {
		case checker.Exclusion:
			t.exclusion += p.Checked
			if p.MarginNS != nil {
				t.margin = min(t.margin, *p.MarginNS)
			}
		case checker.TokenOrder:
			t.order += p.Checked
		}
	}
	t.runs++
	t.violations += violations
	if few {
		t.few++
	}
	return few || violations > 0, nil
}

func printTallies(out io.Writer, locks []string, tallies map[string]*tallied) error {
	table := newTable(out, "lock", "runs", "takeovers", "exclusion judged", "least margin", "token-order judged", "violations")
	code := exitOK
	for _, name := range locks {
		t := tallies[name]
		if t == nil {
			continue
		}
		margin := "none"
		if t.margin != histories.Never {
			margin = fmt.Sprintf("%.3f ms", float64(t.margin)/1e6)
		}
		table.row(name, strconv.Itoa(t.runs), strconv.Itoa(t.takeovers), strconv.Itoa(t.exclusion), margin, strconv.Itoa(t.order), strconv.Itoa(t.violations))
		switch {
		case t.violations > 0:
			code = worseCode(code, exitViolation)
		case t.few > 0:
			code = worseCode(code, exitInconclusive)
		}
	}
	if err := table.flush(); err != nil {
		return withCode(exitEnvironment, err)
	}
	if code == exitInconclusive {
		return withCode(code, fmt.Errorf("some lock names saw fewer than %d takeovers in a run", leastTakeovers))
	}
	return withCode(code, nil)
}
