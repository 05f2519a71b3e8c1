//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/driver"
	"github.com/leasehold-checker/leasehold/workload/store"
	given "github.com/leasehold-checker/leasehold/workload/store/external"
)

// noStore is the store of locks that need none, such as a lock on a file.
const noStore = "none"

// addDrivers asks every driver that the campaign names what it is, and puts it into the
// catalog as a lock.
func addDrivers(ctx context.Context, c *campaign.Config, cat *campaign.Catalog) error {
	blocks := []*campaign.Settings{&c.Settings}
	for i := range c.Cells {
		blocks = append(blocks, &c.Cells[i])
	}
	if len(c.Cells) > 0 {
		blocks = blocks[1:] // what they have in common is in each
	}
	known := map[string]string{} // by command: the name of its lock
	for _, k := range blocks {
		if k.Driver == "" {
			continue
		}
		name, asked := known[k.Driver]
		if !asked {
			d, err := driver.Describe(ctx, child.NewStarter(), k.Driver)
			if err != nil {
				return withCode(exitEnvironment, fmt.Errorf("driver %q: %w", k.Driver, err))
			}
			l := driverLock(d, k)
			cat.Locks = append(cat.Locks, l)
			if l.Store == noStore {
				addNoStore(cat)
			}
			name = l.Name
			known[k.Driver] = name
		}
		k.Locks, k.Pairs = []string{name}, nil
	}
	return nil
}

func driverLock(d driver.Description, k *campaign.Settings) campaign.Lock {
	base, _, _ := strings.Cut(d.Driver, "/")
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, base)
	in := d.Store
	if k.DriverStore != "" {
		in = k.DriverStore
	}
	if in == "" {
		in = noStore
	}
	return campaign.Lock{
		Name: name, Store: in, Doc: "driver " + d.Driver, Driver: k.Driver, Tokens: d.Tokens,
		LeastTTL: d.LeastTTL, Slack: d.Late, OwnThread: true,
	}
}

// addNoStore is for locks that need no store: it is always there.
func addNoStore(cat *campaign.Catalog) {
	for _, s := range cat.Stores {
		if s.Name == noStore {
			return
		}
	}
	cat.Stores = append(cat.Stores, campaign.Store{
		Name: noStore, Topologies: []store.Topology{"1"},
		Empty: func(context.Context, []string, string) error { return nil },
		Providers: []campaign.Provider{{Provision: store.Embedded, Start: func(ctx context.Context, _ *child.Starter, o store.Options) (store.Store, error) {
			o.Endpoints = []string{o.Dir} // a folder of its own, for those that lock files
			return given.Connect(ctx, noStore, o, func(context.Context, string) (string, error) { return "", nil })
		}}},
	})
}

func newDriver() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "driver",
		GroupID: "run",
		Short:   "Test the driver of a lock in any language",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var endpoints []string
	check := &cobra.Command{
		Use:   "check [--endpoint ADDRESS] -- COMMAND...",
		Short: "Talk with a driver as a campaign would, and say what it does wrong",
		Long: `Starts the driver, asks it everything that PROTOCOL.md speaks of, and says for each rule
whether it keeps it, and if not, what to change. Drivers of locks that need a store get
its address by --endpoint.

Exits 0 if all rules are kept, 1 if one is broken, 3 if the driver does not start.`,
		Example: `  leasehold driver check -- ./flock.sh
  leasehold driver check --endpoint 127.0.0.1:6379 -- python3 redis_lock.py`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return checkDriver(cmd, strings.Join(args, " "), endpoints)
		},
	}
	check.Flags().StringSliceVar(&endpoints, "endpoint", nil, "where the driver's lock store is")
	cmd.AddCommand(check)
	return cmd
}

func checkDriver(cmd *cobra.Command, command string, endpoints []string) error {
	findings, err := driver.Check(cmd.Context(), child.NewStarter(), command, endpoints)
	out := cmd.OutOrStdout()
	broken := 0
	for _, f := range findings {
		word := "ok    "
		if f.Problem != "" {
			word = "BROKEN"
			broken++
		}
		fmt.Fprintf(out, "%s  %s\n", word, f.Rule)
		if f.Problem != "" {
			fmt.Fprintf(out, "        %s\n", report.Clean(f.Problem))
		}
	}
	switch {
	case err != nil:
		return withCode(exitEnvironment, err)
	case broken > 0:
		return withCode(exitViolation, fmt.Errorf("the driver breaks %d of %d rules", broken, len(findings)))
	}
	return nil
}

// coded keeps the exit code that an error has; otherwise it is a mistake in what was asked for.
func coded(err error) error {
	var e *exit
	if errors.As(err, &e) {
		return err
	}
	return withCode(exitUsage, err)
}
