//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
)

func newCard() *cobra.Command {
	o := runOptions{Config: campaign.Default()}
	cmd := &cobra.Command{
		Use:     "card [LOCK]",
		GroupID: "run",
		Short:   "Run a lock, and print what it does when a lease is lost",
		Long: `Stops holders of the lock until their leases are lost, on the real store, and prints
its card: whether it issues tokens and whether they are in order, the ttl asked for
and granted, how late the next grant came after the last promise ran out, whether
and how late the holder was told, and what release and renew answered after the loss.

A card reports; it judges nothing, and exits 0 unless the run itself failed.`,
		Example: `  leasehold card etcd-mutex
  leasehold card --json redis-set`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (o.Driver != "") {
				return withCode(exitUsage, errors.New("a card is of one lock: name it, or say --driver"))
			}
			if len(args) == 1 {
				o.Locks = args
			}
			return card(cmd, &o)
		},
	}
	cmd.Flags().StringVar(&o.Driver, "driver", "", "command of a driver: a lock in any language")
	cmd.Flags().StringVar(&o.DriverStore, "driver-store", "", "lock store for the driver (default: the one it asks for)")
	bindStore(cmd.Flags(), &o.Config)
	cmd.Flags().StringVar(&o.Token, "token", o.Token, "give a lock without tokens a number drawn in a second step: counter (known to be bad)")
	cmd.Flags().DurationVar(&o.TTL, "ttl", o.TTL, "time to live that is asked of the store")
	cmd.Flags().IntVar(&o.Trials, "trials", o.Trials, "leases to lose")
	cmd.Flags().StringVar(&o.Out, "out", o.Out, "folder of the run directories")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the card as JSON")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing while it runs")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, l := range catalog.All().Locks {
			names = append(names, l.Name+"\t"+l.Doc)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func card(cmd *cobra.Command, o *runOptions) error {
	o.Name, o.Seed, o.Expect = "card", drawSeed(), campaign.ExpectAny
	o.Guards = []workload.Guard{workload.GuardNone}
	cat := catalog.All()
	if err := addDrivers(cmd.Context(), &o.Config, &cat); err != nil {
		return err
	}
	lock := o.Locks[0]
	if noTTL(cat, lock) {
		o.Fault = campaign.FaultSessionKill
	}
	plan, err := campaign.NewPlan(o.Config, cat)
	if err != nil {
		return withCode(exitUsage, err)
	}
	summary, err := o.carryOut(cmd, plan, cat)
	if err != nil || summary == nil || len(summary.Cells) == 0 {
		return withCode(exitEnvironment, err)
	}
	h, err := histories.ReadFile(filepath.Join(summary.Dir, summary.Cells[0].Dir, report.FileHistory))
	if err != nil {
		return withCode(exitEnvironment, err)
	}
	r, err := checker.Check(cmd.Context(), h, checker.Options{})
	if err != nil {
		return withCode(exitInternal, err)
	}
	c, err := checker.CardOf(h, r)
	if err != nil {
		return withCode(exitInternal, err)
	}
	return printCard(cmd.OutOrStdout(), lock, summary.Cells[0].Store, c, o.json)
}

func noTTL(cat campaign.Catalog, lock string) bool {
	for _, l := range cat.Locks {
		if l.Name == lock {
			return l.NoTTL
		}
	}
	return false
}

func printCard(out io.Writer, lock, store string, c checker.Card, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(c, "", "  ")
		if err != nil {
			return withCode(exitInternal, err)
		}
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	t := newTable(out, lock, store)
	t.row("token", tokenText(c))
	t.row("ttl", ttlText(c))
	t.row("leases lost", fmt.Sprintf("%d", c.Losses))
	t.row("next grant after the end of the promise", spreadText(c.LateMS))
	t.row("holder told of the loss", fmt.Sprintf("%d of %d%s", c.Told, c.Losses, after(c)))
	t.row("release after the loss", answers(c.ReleaseOK, c.ReleaseNo))
	t.row("renew after the loss", answers(c.RenewOK, c.RenewNo))
	return t.flush()
}

func tokenText(c checker.Card) string {
	if c.Tokens == histories.TokensNone {
		return "none"
	}
	if c.TokenOrder == "" {
		return "issued; order not judged"
	}
	return "ordered across grants by expiry and by release: " + string(c.TokenOrder)
}

func ttlText(c checker.Card) string {
	if c.TTLMS == 0 {
		return "none: a lease ends with its session"
	}
	return fmt.Sprintf("%d ms asked for, %d ms granted", c.TTLAskedMS, c.TTLMS)
}

func spreadText(s checker.Spread) string {
	if s.N == 0 {
		return "not seen"
	}
	return fmt.Sprintf("%.0f to %.0f ms, median %.0f (%d)", s.Min, s.Max, s.Median, s.N)
}

func after(c checker.Card) string {
	if c.ToldAfterMS.N == 0 {
		return ""
	}
	return ", " + spreadText(c.ToldAfterMS) + " after it went on"
}

func answers(ok, no int) string {
	if ok+no == 0 {
		return "not seen"
	}
	return fmt.Sprintf("%d ok, %d refused", ok, no)
}
