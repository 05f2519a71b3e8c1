package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/edn"
)

type convertOptions struct {
	input
	to     string
	output string
}

func newConvert() *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:     "convert FILE",
		GroupID: "history",
		Short:   "Write a history in another notation",
		Long: `Reads a history (- for standard input) in any notation, packed or not, and writes it as
JSON Lines for programs, in the text notation for people, or as Jepsen's history.edn.

The first two carry the same; only the cell's name, its seed and the versions of what
ran stay behind in JSON Lines. EDN carries what Jepsen's checkers of locks and registers
know: who acquired, released, read and wrote. What stays behind is said.

An output that ends in .gz or .zst is packed.`,
		Example: `  leasehold convert --to hist history.jsonl
  leasehold convert -o history.jsonl.zst bug-report.hist
  leasehold convert -o history.jsonl store/latest/history.edn`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withUsage(convert(cmd, args[0], o))
		},
	}
	o.input.addFlags(cmd)
	cmd.Flags().StringVar(&o.to, "to", "", "notation to write: "+strings.Join(notations, ", ")+" (default: what the output's name says, else hist)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "file to create (default standard output)")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(notations, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var notations = []string{"hist", "jsonl", "edn"}

func convert(cmd *cobra.Command, file string, o convertOptions) error {
	to := o.to
	if to == "" {
		to = notationOf(o.output)
	}
	if !slices.Contains(notations, to) {
		return fmt.Errorf("--to %q: it is one of %v", to, notations)
	}
	h, err := o.input.read(cmd.InOrStdin(), file)
	if err != nil {
		return err
	}
	var left []string
	if o.output == "" {
		left, err = encode(cmd.OutOrStdout(), h, to)
	} else {
		left, err = encodeFile(o.output, h, to)
	}
	if err != nil {
		return err
	}
	for _, w := range h.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), report.Clean(w))
	}
	if len(left) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "left out, for %s has no word for them: %s\n", to, report.Clean(strings.Join(left, ", ")))
	}
	return nil
}

// notationOf goes by the name of the output.
func notationOf(path string) string {
	path, _ = packing(path)
	for _, n := range notations {
		if strings.HasSuffix(path, "."+n) {
			return n
		}
	}
	return "hist"
}

// encode tells what the notation could not carry.
func encode(w io.Writer, h *histories.History, to string) (left []string, err error) {
	switch to {
	case "hist":
		return nil, histories.FormatText(w, h)
	case "edn":
		return edn.Encode(w, h)
	}
	return nil, histories.EncodeJSONL(w, h)
}

// encodeFile creates the file; it never overwrites one, and leaves none that is not whole.
func encodeFile(path string, h *histories.History, to string) ([]string, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create output: %w", err)
	}
	left, err := encodePacked(f, h, to, path)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return left, nil
}

func encodePacked(w io.Writer, h *histories.History, to, path string) ([]string, error) {
	_, pack := packing(path)
	packed, err := pack(w)
	if err != nil {
		return nil, err
	}
	left, err := encode(packed, h, to)
	return left, errors.Join(err, packed.Close())
}

func withUsage(err error) error {
	if err == nil {
		return nil
	}
	return withCode(exitUsage, err)
}
