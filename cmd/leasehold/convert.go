package main

import (
	"fmt"
	"io"
	"os"
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
			h, err := readHistory(cmd.InOrStdin(), args[0])
			if err != nil {
				return withCode(exitUsage, err)
			}
			if output == "" {
				return withUsage(encode(cmd.OutOrStdout(), h, to))
			}
			f, err := os.OpenFile(output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				return withCode(exitUsage, fmt.Errorf("create output: %w", err))
			}
			defer f.Close()
			if err := encode(f, h, to); err != nil {
				return withUsage(err)
			}
			return withUsage(f.Close())
		},
	}
	cmd.Flags().StringVar(&to, "to", "hist", "notation to write: "+strings.Join(notations, " or "))
	cmd.Flags().StringVarP(&output, "output", "o", "", "file to create (default standard output)")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(notations, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var notations = []string{"hist", "jsonl"}

func encode(w io.Writer, h *histories.History, to string) error {
	switch to {
	case "hist":
		return histories.FormatText(w, h)
	case "jsonl":
		return histories.EncodeJSONL(w, h)
	}
	return fmt.Errorf("--to %q: it is one of %v", to, notations)
}

func withUsage(err error) error {
	if err == nil {
		return nil
	}
	return withCode(exitUsage, err)
}
