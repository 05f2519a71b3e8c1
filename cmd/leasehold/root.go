package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newRoot is the command line.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "leasehold",
		Short: "Can a paused lock holder still hurt your data?",
		Long: `leasehold finds out whether a paused lock holder can still hurt the data that its
lock protects. Worker processes take leases from a real lock store and write to a
protected resource; a nemesis stops them with SIGSTOP between their check and
their write; the recorded history is judged by Porcupine, with and without fencing
tokens at the resource.`,
		Example: `  leasehold run --fence off          # shows the stale write, exits 1
  leasehold run --fence all          # fencing stops it, exits 0
  leasehold check history.jsonl      # judges a recorded history
  leasehold explain                  # tells the last run's violation in words
  leasehold view                     # where the pictures of the last run are`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return withCode(exitUsage, fmt.Errorf("%s: %w", cmd.CommandPath(), err))
	})
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Run campaigns:"},
		&cobra.Group{ID: "history", Title: "Work with histories:"},
	)
	root.AddCommand(newCheck(), newConvert(), newExplain(), newView(), newVersion())
	root.AddCommand(platformCommands()...)
	return root
}
