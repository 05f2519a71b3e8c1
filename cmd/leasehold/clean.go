//go:build linux

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/store/container"
)

// undos say how to undo what a campaign may leave behind.
func undos() nemesis.Undos {
	return nemesis.Undos{
		campaign.UndoContainers: func(ctx context.Context, id string) error {
			_, err := container.Clean(ctx, id)
			return err
		},
	}
}

func newClean() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "clean",
		GroupID: "run",
		Short:   "Undo what a campaign that died has left behind",
		Long: `Replays the ledgers of campaigns that ended without undoing what they had done, and
removes the containers, networks and volumes that carry their labels. Campaigns that
are running are left alone, and so is everything that is not leasehold's.

With --all it goes by the labels alone, for leftovers whose ledger is gone too; no
campaign may be running then.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := clean(cmd, all); err != nil {
				return withCode(exitEnvironment, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove whatever carries leasehold's label; no campaign may be running")
	return cmd
}

func clean(cmd *cobra.Command, all bool) error {
	index, err := nemesis.StateDir()
	if err != nil {
		return err
	}
	replayed, err := nemesis.ReplayAll(cmd.Context(), index, undos())
	for _, ledger := range replayed {
		fmt.Fprintf(cmd.OutOrStdout(), "undone: %s\n", report.Clean(ledger))
	}
	if err != nil {
		return err
	}
	if !all {
		return nil
	}
	removed, err := container.Clean(cmd.Context(), "")
	for _, name := range removed {
		fmt.Fprintf(cmd.OutOrStdout(), "removed: %s\n", report.Clean(name))
	}
	return err
}
