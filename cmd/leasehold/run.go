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
	"github.com/spf13/pflag"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
	"github.com/leasehold-checker/leasehold/workload/child"
)

type runOptions struct {
	campaign.Config
	guards, fences, points []string
	mode, until, expect    string
	json, quiet            bool
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

Exits 0 if every cell met its expectation and its floors, 1 on a violation where
none was expected, 2 if it stayed inconclusive, 3 if the environment failed, 4 if
what was asked for makes no sense.`,
		Example: `  leasehold run --fence off                          # the stale write; exits 1
  leasehold run --fence all                          # with its control; exits 0
  leasehold run --fence off --expect violation       # the same, as a regression test
  leasehold run --fence writes,all --until read      # the update that a write-only fence loses
  leasehold run --mode random --guard none,check,ask --work 5ms --time-limit 30s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCampaign(cmd, &o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Locks, "lock", o.Locks, "locks to drive")
	o.storeFlags(f)
	f.StringSliceVar(&o.Resources, "resource", o.Resources, "resources that the locks protect")
	f.StringSliceVar(&o.Pairs, "pair", nil, "one more LOCK/RESOURCE beside those, such as etcd-mutex/etcd")
	f.StringSliceVar(&o.guards, "guard", texts(o.Guards), "what the holder does before it acts: none, check (asks its client), ask (asks the store)")
	f.StringSliceVar(&o.fences, "fence", texts(o.Fences), "what the resource does with tokens: off, writes (refuses old ones on writes), all (reads raise and are refused, too)")
	f.StringVar(&o.Fault, "fault", o.Fault, "what the nemesis does: pause, session-kill (of a stopped holder's session, for locks without a ttl) or noop")
	f.StringVar(&o.mode, "mode", string(o.Mode), "directed (stops itself at a code point) or random (stopped from outside)")
	f.StringSliceVar(&o.points, "point", texts(o.Points), "code points at which holders are stopped, in directed mode: "+join(histories.Points()))
	f.StringVar(&o.until, "until", string(o.Until), "what the successor does before the old holder goes on, in directed mode: granted, read or written")
	f.DurationVar(&o.Pause, "pause", 0, "least length of a pause (default: what the lease needs)")
	f.DurationVar(&o.TTL, "ttl", o.TTL, "time to live that is asked of the store")
	f.DurationVar(&o.Work, "work", o.Work, "time between guard and write (default: none)")
	f.DurationVar(&o.TimeLimit, "time-limit", o.TimeLimit, "longest time for one cell, pauses that have begun not counted")
	f.IntVar(&o.Trials, "trials", o.Trials, "pauses in a cell, in directed mode")
	f.IntVar(&o.LockNames, "locks", o.LockNames, "lock names side by side")
	f.IntVar(&o.Workers, "workers", o.Workers, "worker processes for each lock name")
	f.Int64Var(&o.Seed, "seed", 0, "seed of the plan (default: drawn, and printed)")
	f.StringVar(&o.expect, "expect", "", "what each cell is to show: clean, violation or any (default: clean; violation for the off cell beside a fenced one)")
	f.BoolVar(&o.NoControl, "no-control", false, "run fenced cells without their unfenced control; shows no power, needs 20 refused stale writes")
	f.BoolVar(&o.FailFast, "fail-fast", false, "stop at the first violation that was not expected; a stale write is seen within the second")
	f.StringVar(&o.Name, "name", o.Name, "name of the run, part of its folder's")
	f.StringVar(&o.Out, "out", o.Out, "folder of the run directories")
	f.BoolVar(&o.json, "json", false, "print the summary as JSON")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing while it runs")
	completeRun(cmd)
	return cmd
}

func runCampaign(cmd *cobra.Command, o *runOptions) error {
	if !cmd.Flags().Changed("seed") {
		o.Seed = drawSeed()
	}
	o.Guards, o.Fences, o.Points = typed[workload.Guard](o.guards), typed[histories.Fence](o.fences), typed[histories.Point](o.points)
	o.Mode, o.Until, o.Expect = workload.Mode(o.mode), campaign.Until(o.until), campaign.Expect(o.expect)
	if err := o.idle(cmd); err != nil {
		return withCode(exitUsage, err)
	}
	cat := catalog.All()
	plan, err := campaign.NewPlan(o.Config, cat)
	if err != nil {
		return withCode(exitUsage, err)
	}
	summary, err := o.carryOut(cmd, plan, cat)
	if summary == nil {
		return withCode(exitEnvironment, err)
	}
	code := summary.ExitCode
	if e := printSummary(cmd.OutOrStdout(), *summary, o.json); e != nil {
		code, err = worseCode(code, exitEnvironment), errors.Join(err, e) // a violation is not masked by a full disk
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
		ExitCode:    outcomeCode,
		Interrupted: interruption,
		Version:     ownVersion(),
		StateDir:    index,
	})
}

// storeFlags say where a store comes from.
func (o *runOptions) storeFlags(f *pflag.FlagSet) {
	f.StringVar((*string)(&o.Provision), "provision", "", "where the store comes from: embedded, container or external (default: embedded where there is one, else container)")
	f.StringVar(&o.Token, "token", "", "give a lock without tokens a number drawn in a second step: counter (known to be bad)")
	f.StringSliceVar(&o.Endpoints, "endpoint", nil, "where an external store is")
	f.StringToStringVar(&o.Images, "image", nil, "image of a store in a container, as STORE=REF")
}

// idle refuses flags that would have no effect: who sets one believes that it has.
func (o *runOptions) idle(cmd *cobra.Command) error {
	without := map[string][]string{
		"--mode random": {"point", "until", "trials"},
		"--fault noop":  {"point", "until", "trials", "pause", "no-control"},
	}
	for _, setting := range []string{"--mode " + o.mode, "--fault " + o.Fault} {
		for _, flag := range without[setting] {
			if cmd.Flags().Changed(flag) {
				return fmt.Errorf("--%s has no effect with %s", flag, setting)
			}
		}
	}
	return nil
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

func typed[T ~string](list []string) []T {
	var out []T
	for _, v := range list {
		out = append(out, T(v))
	}
	return out
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
