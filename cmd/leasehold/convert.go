package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/histories"
)

func newConvert() *cobra.Command {
	var to, output string
	cmd := &cobra.Command{
		Use:     "convert FILE",
		GroupID: "history",
		Short:   "Write a history in the other notation",
		Long: `Reads a history (- for standard input) and writes it as JSON Lines for programs or in
the text notation for people. Both carry the same; only the cell's name, its seed
and the versions of what ran stay behind in JSON Lines.`,
		Example: `  leasehold convert --to hist history.jsonl
  leasehold convert --to jsonl -o history.jsonl bug-report.hist`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(notations, to) {
				return withCode(exitUsage, fmt.Errorf("--to %q: it is one of %v", to, notations))
			}
			h, err := readHistory(cmd.InOrStdin(), args[0])
			if err != nil {
				return withCode(exitUsage, err)
			}
			if output == "" {
				return withUsage(encode(cmd.OutOrStdout(), h, to))
			}
			return withUsage(encodeFile(output, h, to))
		},
	}
	cmd.Flags().StringVar(&to, "to", "hist", "notation to write: "+strings.Join(notations, " or "))
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to create (default standard output)")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(notations, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var notations = []string{"hist", "jsonl"}

func encode(w io.Writer, h *histories.History, to string) error {
	if to == "hist" {
		return histories.FormatText(w, h)
	}
	return histories.EncodeJSONL(w, h)
}

// encodeFile creates the file; it never overwrites one, and leaves none that is not whole.
func encodeFile(path string, h *histories.History, to string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("create output: %w", err)
	}
	if err := errors.Join(encode(f, h, to), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func withUsage(err error) error {
	if err == nil {
		return nil
	}
	return withCode(exitUsage, err)
}
