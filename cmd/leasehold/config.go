//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
)

// campaignFile is what a campaign file is called unless it is called something else.
const campaignFile = "leasehold.yaml"

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		GroupID: "run",
		Short:   "Write, check and print campaign files",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigInit(), newConfigValidate(), newConfigPrint(), &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of campaign files, for editors",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printSchema(cmd, "config") },
	})
	return cmd
}

// exampleCampaign is what config init writes.
const exampleCampaign = `# A campaign for leasehold: what is run, and what it has to show.
#   leasehold run -c leasehold.yaml
# A flag wins over its environment variable (LEASEHOLD_TTL for --ttl), that over this
# file. leasehold config schema prints the schema, leasehold config print all defaults.
version: 1
name: gate

# Several values multiply out: here one lock, without and with a fence. The cell
# without is the control: it must violate, or the other one shows nothing.
locks: [etcd-mutex]
resources: [register]
guards: [check]
fences: [off, all]

ttl: 2s
trials: 24

# What a cell must have done at least, or it stays inconclusive (exit 2).
floors:
  conclusive: 20
  stale_attempts: 20
  operations: {write: 100}

# Blocks of cells with settings of their own, instead of the one block above:
# cells:
#   - locks: [etcd-mutex, nats-kv]
#   - locks: [redis-set]
#     fences: [off]
#     expect: violation
`

func newConfigInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a campaign file to begin with (" + campaignFile + ")",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := fileOr(args)
			if err := writeNew(path, exampleCampaign); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; leasehold run -c %s runs it\n", report.Clean(path), report.Clean(path))
			return err
		},
	}
}

func fileOr(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return campaignFile
}

// writeNew writes a file that must not be there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return withCode(exitUsage, fmt.Errorf("%s is there already, and stays as it is", path))
	}
	if err != nil {
		return withCode(exitEnvironment, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return withCode(exitEnvironment, fmt.Errorf("write %s: %w", path, err))
	}
	return nil
}

func newConfigValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a campaign file, and list the cells that it makes",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := campaign.ReadFile(fileOr(args))
			if err != nil {
				return withCode(exitUsage, err)
			}
			cat := catalog.All()
			if err := addDrivers(cmd.Context(), &c, &cat); err != nil {
				return err
			}
			plan, err := campaign.NewPlan(c, cat)
			if err != nil {
				return withCode(exitUsage, fmt.Errorf("%s: %w", fileOr(args), err))
			}
			table := newTable(cmd.OutOrStdout(), "cell", "expect", "least conclusive trials", "pause")
			for _, cell := range plan.Cells {
				table.row(cell.Name(), string(cell.Expect), fmt.Sprint(cell.Floor()), cell.Pause.String())
			}
			return table.flush()
		},
	}
}

func newConfigPrint() *cobra.Command {
	o := runOptions{Config: campaign.Default()}
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print what would be run: file, environment and flags resolved",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cat := catalog.All()
			plan, err := o.plan(cmd, &cat)
			if err != nil {
				return coded(err)
			}
			if o.json {
				return printJSON(cmd, plan.Config)
			}
			text, err := yaml.Marshal(plan.Config)
			if err != nil {
				return withCode(exitInternal, fmt.Errorf("encode campaign: %w", err))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	o.planFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print it as JSON")
	return cmd
}

func printJSON(cmd *cobra.Command, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return withCode(exitInternal, fmt.Errorf("encode JSON: %w", err))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
	return err
}
