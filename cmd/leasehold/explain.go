package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
)

func newExplain() *cobra.Command {
	number := 1
	cmd := &cobra.Command{
		Use:     "explain [RUN|CELL|FILE]",
		GroupID: "history",
		Short:   "Tell a violation in words",
		Long: `Tells one violation step by step: who held the lock under which token, who was
stopped when and for how long, when the lease ended and who got it, which operation
came too late and what it destroyed. Then the same as a small history that is illegal
by itself, and the list of the other violations.

Takes a run directory (the last run if none is given), the folder of a cell in one, or
a history.`,
		Example: `  leasehold explain
  leasehold explain --violation 2 runs/20261129T201500Z-run-1a2b3c
  leasehold explain bug-report.hist`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := filepath.Join(outFolder, report.LinkLatest)
			if len(args) == 1 {
				what = args[0]
			}
			return explain(cmd, what, number)
		},
	}
	cmd.Flags().IntVar(&number, "violation", number, "which one to tell, as the list numbers them")
	return cmd
}

func explain(cmd *cobra.Command, what string, number int) error {
	list, err := violations(cmd, what)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case len(list) == 0:
		_, err = fmt.Fprintf(out, "%s: no violation to tell of\n", report.Clean(what))
	case number < 1 || number > len(list):
		return withCode(exitUsage, fmt.Errorf("there is no violation %d: they go from 1 to %d", number, len(list)))
	default:
		err = report.WriteExplanation(out, list, number, report.TextOptions{Color: colored(out)})
	}
	if err != nil {
		return withCode(exitEnvironment, err)
	}
	return nil
}

// violations finds those of a run, of a cell, or of a history, which is judged first.
func violations(cmd *cobra.Command, what string) ([]report.Told, error) {
	if info, err := os.Stat(what); what == "-" || err == nil && !info.IsDir() {
		h, err := readHistory(cmd.InOrStdin(), what)
		if err != nil {
			return nil, err
		}
		r, err := checker.Check(cmd.Context(), h, checker.Options{})
		if err != nil {
			return nil, judgingFailed(cmd.Context(), err)
		}
		return report.Violations(what, &r), nil
	}
	var s report.Summary
	err := readJSON(filepath.Join(what, report.FileSummary), &s)
	if errors.Is(err, os.ErrNotExist) {
		return ofCell(what, what)
	}
	if err != nil {
		return nil, err
	}
	var list []report.Told
	for _, c := range s.Cells {
		more, err := ofCell(filepath.Join(what, filepath.Base(c.Dir)), c.Cell)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

func ofCell(dir, name string) ([]report.Told, error) {
	var r checker.Result
	if err := readJSON(filepath.Join(dir, report.FileResult), &r); err != nil {
		return nil, err
	}
	return report.Violations(name, &r), nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read run: %s: %w", file, err)
	}
	return nil
}

// judgingFailed gives the failure of a judgement its exit code.
func judgingFailed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, checker.ErrDisagree):
		return withCode(exitInternal, err)
	case ctx.Err() != nil:
		return withCode(interruptCode(ctx), context.Cause(ctx))
	}
	return withCode(exitUsage, err)
}
