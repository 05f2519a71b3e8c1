package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker/report"
)

// outFolder is where run directories go if nothing else is said.
const outFolder = "runs"

func newView() *cobra.Command {
	return &cobra.Command{
		Use:     "view [RUN]",
		GroupID: "history",
		Short:   "Say where the pictures of a run are",
		Long: `Says for a run directory (the last run if none is given) how its cells ended, and
where the pages are that show them: report.html for the run, timeline.html for what
happened in a cell, porcupine.html for Porcupine's own view of the violation.`,
		Example: `  leasehold view
  leasehold view runs/20261129T201500Z-run-1a2b3c`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run := filepath.Join(outFolder, report.LinkLatest)
			if len(args) == 1 {
				run = args[0]
			}
			return withUsage(view(cmd, run))
		},
	}
}

func view(cmd *cobra.Command, run string) error {
	text, err := os.ReadFile(filepath.Join(run, report.FileSummary))
	if err != nil {
		return fmt.Errorf("view run: %w", err)
	}
	var s report.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("view run: read summary: %w", err)
	}
	if real, err := filepath.EvalSymlinks(run); err == nil {
		run = real
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s\n", filepath.Join(run, report.FileReport))
	for _, c := range s.Cells {
		fmt.Fprintf(out, "\n%s: %s\n", report.Clean(c.Cell), report.Clean(string(c.Verdict)))
		for _, page := range []string{report.FileTimeline, report.FilePorcupine} {
			path := filepath.Join(run, filepath.Base(c.Dir), page)
			if _, err := os.Stat(path); err == nil {
				fmt.Fprintf(out, "  %s\n", report.Clean(path))
			}
		}
	}
	return nil
}
