//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker/report"
)

// reportFiles are the forms in which CI systems take results.
type reportFiles struct{ junit, markdown string }

// write writes what was asked for, and what the CI system that runs us asks for by its
// environment: GitHub's job summary and annotations.
func (f reportFiles) write(cmd *cobra.Command, s report.Summary) error {
	var errs []error
	if f.junit != "" {
		errs = append(errs, toFile(f.junit, os.O_TRUNC, s, report.WriteJUnit))
	}
	if f.markdown == "" {
		f.markdown = os.Getenv("GITHUB_STEP_SUMMARY")
	}
	if f.markdown != "" {
		errs = append(errs, toFile(f.markdown, os.O_APPEND, s, report.WriteMarkdown))
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" { // to standard error: standard output may be read by a program
		errs = append(errs, report.WriteAnnotations(cmd.ErrOrStderr(), s))
	}
	return errors.Join(errs...)
}

func toFile(path string, mode int, s report.Summary, write func(io.Writer, report.Summary) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return errors.Join(write(file, s), file.Close())
}
