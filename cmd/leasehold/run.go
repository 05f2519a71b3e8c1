//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
	"github.com/leasehold-checker/leasehold/workload/child"
)

type runOptions struct {
	campaign.Config
	file        string
	json, quiet bool
	reports     reportFiles
}

func newRun() *cobra.Command {
	o := runOptions{Config: campaign.Default()}
	cmd := &cobra.Command{
		Use:     "run",
		GroupID: "run",
		Short:   "Run a campaign: workers, lock store, nemesis, verdict",
		Long: `Starts a lock store, a protected resource and many worker processes, stops workers
with SIGSTOP, records what everybody did, and has the history judged. Several values
of --lock, --resource, --guard, --fence or --point are several cells of one plan. A
fenced cell gets its unfenced control beside it: unless that one violates, the
silence of the fenced one means nothing.

A plan can stand in a file (-c leasehold.yaml; see leasehold config). A flag wins over
its environment variable (LEASEHOLD_TIME_LIMIT for --time-limit), that over the file,
and the file over the default.

Exits 0 if every cell met its expectation and its floors, 1 on a violation where
none was expected, 2 if it stayed inconclusive, 3 if the environment failed, 4 if
what was asked for makes no sense.`,
		Example: `  leasehold run --fence off                          # the stale write; exits 1
  leasehold run --fence all                          # with its control; exits 0
  leasehold run --fence off --expect violation       # the same, as a regression test
  leasehold run --fence writes,all --until read      # the update that a write-only fence loses
  leasehold run --mode random --guard none,check,ask --work 5ms --time-limit 30s
  leasehold run -c leasehold.yaml --budget 90s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCampaign(cmd, &o) },
	}
	f := cmd.Flags()
	o.planFlags(f)
	f.BoolVar(&o.json, "json", false, "print the summary as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing while it runs")
	f.StringVar(&o.reports.junit, "junit", "", "write JUnit XML to this file")
	f.StringVar(&o.reports.markdown, "summary", "", "append a summary in Markdown to this file (default: GitHub's job summary, where there is one)")
	completeRun(cmd)
	return cmd
}

func runCampaign(cmd *cobra.Command, o *runOptions) error {
	cat := catalog.All()
	plan, err := o.plan(cmd, &cat)
	if err != nil {
		return coded(err)
	}
	summary, err := o.carryOut(cmd, plan, cat)
	if summary == nil {
		return withCode(exitEnvironment, err)
	}
	code := summary.ExitCode
	if e := printSummary(cmd.OutOrStdout(), *summary, o.json); e != nil {
		code, err = worseCode(code, exitEnvironment), errors.Join(err, e) // a violation is not masked by a full disk
	}
	if e := o.reports.write(cmd, *summary); e != nil {
		code, err = worseCode(code, exitEnvironment), errors.Join(err, e)
	}
	return withCode(code, err)
}

// carryOut runs the plan and shows how it goes.
func (o *runOptions) carryOut(cmd *cobra.Command, plan *campaign.Plan, cat campaign.Catalog) (*report.Summary, error) {
	index, err := nemesis.StateDir()
	if err != nil {
		return nil, err
	}
	progress := newProgress(cmd.ErrOrStderr(), o.quiet, plan)
	defer progress.Close()
	return campaign.Run(cmd.Context(), plan, campaign.Env{
		Catalog:     cat,
		Starter:     child.NewStarter(),
		Progress:    progress,
		ExitCode:    func(outcome campaign.Outcome) int { return campaignCode(outcome, plan.Config.Inconclusive) },
		Interrupted: interruption,
		Version:     ownVersion(),
		StateDir:    index,
	})
}

// interruption tells which signal ended the context, "" if none did.
func interruption(ctx context.Context) campaign.Outcome {
	switch {
	case ctx.Err() == nil:
		return ""
	case interruptCode(ctx) == exitTerminated:
		return campaign.Terminated
	}
	return campaign.Interrupted
}

func printSummary(out io.Writer, s report.Summary, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return fmt.Errorf("encode summary: %w", err)
		}
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	return report.WriteText(out, s, report.TextOptions{Color: colored(out)})
}

// drawSeed draws a seed that is short enough to be typed again.
func drawSeed() int64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint32(b[:]))
}

func texts[T ~string](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}

// campaignCode is the exit code of a campaign: an inconclusive one passes if the user
// said so, and only then.
func campaignCode(o campaign.Outcome, inconclusive string) int {
	if o == campaign.Inconclusive && inconclusive == campaign.InconclusiveWarn {
		return exitOK
	}
	return outcomeCode(o)
}

// outcomeCode is the exit code of an outcome.
func outcomeCode(o campaign.Outcome) int {
	switch o {
	case campaign.Met:
		return exitOK
	case campaign.Violated:
		return exitViolation
	case campaign.Inconclusive:
		return exitInconclusive
	case campaign.Environment:
		return exitEnvironment
	case campaign.Interrupted:
		return exitInterrupted
	case campaign.Terminated:
		return exitTerminated
	}
	return exitInternal
}
