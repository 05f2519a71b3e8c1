package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
)

type checkOptions struct {
	input
	json    bool
	timeout time.Duration
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:     "check FILE...",
		GroupID: "history",
		Short:   "Judge recorded histories",
		Long: `Judges each history: a history.jsonl, a .hist file, the history.edn of a Jepsen test of
locks or registers, each of them packed with gzip or zstd or not, or - for standard
input. It says for each property whether it is valid, invalid or unknown, how many
cases could be judged, and tells the first violations in words.

Exits 0 if every history is valid, 1 if one is invalid, 2 if one can't be decided
or puts nothing to the test, 4 if one is malformed.`,
		Example: `  leasehold check runs/latest/*/history.jsonl
  leasehold check --json bug-report.hist
  leasehold check store/latest/history.edn
  leasehold check history.jsonl.zst`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error { return check(cmd, files, o) },
	}
	o.input.addFlags(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print each result as JSON")
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "give up on a history after this, and call it unknown")
	return cmd
}

// check judges all files, also after one that is bad: nothing is lost, and the
// worst of them decides the exit code.
func check(cmd *cobra.Command, files []string, o checkOptions) error {
	worst := exitOK
	var problems []error
	for i, file := range files {
		if i > 0 && !o.json {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		code, err := checkFile(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), file, len(files) > 1, o)
		if err != nil {
			problems = append(problems, err)
		}
		worst = worseCode(worst, code)
	}
	return withCode(worst, errors.Join(problems...))
}

func checkFile(ctx context.Context, in io.Reader, out io.Writer, file string, named bool, o checkOptions) (int, error) {
	h, err := o.input.read(in, file)
	if err != nil {
		return exitUsage, err
	}
	r, err := checker.Check(ctx, h, checker.Options{Timeout: o.timeout})
	switch {
	case errors.Is(err, checker.ErrFault):
		return fault(h, file, "", err)
	case err != nil && ctx.Err() != nil:
		return interruptCode(ctx), fmt.Errorf("%s: %w", file, context.Cause(ctx))
	case err != nil:
		return exitUsage, err
	}
	if o.json {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return exitInternal, fmt.Errorf("encode result: %w", err)
		}
		_, err = fmt.Fprintf(out, "%s\n", text)
		return printed(r.Verdict, err)
	}
	if named {
		fmt.Fprintf(out, "%s:\n", report.Clean(file))
	}
	return printed(r.Verdict, report.WriteResult(out, h, r, report.TextOptions{Color: colored(out)}))
}

// printed is the exit code of a verdict that was printed, or could not be: then a
// violation is still a violation, and nothing else is a success.
func printed(v checker.Verdict, err error) (int, error) {
	if err != nil {
		return worseCode(verdictCode(v), exitEnvironment), err
	}
	return verdictCode(v), nil
}

// worseCode is the exit code that decides between two.
func worseCode(a, b int) int {
	for _, code := range []int{exitViolation, exitInternal, exitInterrupted, exitTerminated, exitUsage, exitEnvironment, exitInconclusive} {
		if a == code || b == code {
			return code
		}
	}
	return exitOK
}

func interruptCode(ctx context.Context) int {
	if errors.Is(context.Cause(ctx), errTerminated) {
		return exitTerminated
	}
	return exitInterrupted
}
