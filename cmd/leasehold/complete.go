//go:build linux

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
)

// completeRun teaches the shell the words that the flags of run take.
func completeRun(cmd *cobra.Command) {
	cat := catalog.All()
	var locks, resources []string
	for _, l := range cat.Locks {
		locks = append(locks, l.Name+"\t"+l.Doc)
	}
	for _, r := range cat.Resources {
		resources = append(resources, r.Name+"\t"+r.Doc)
	}
	for flag, words := range map[string][]string{
		"lock":     locks,
		"resource": resources,
		"guard":    texts(workload.Guards()),
		"fence":    {string(histories.FenceOff), string(histories.FenceWrites), string(histories.FenceAll)},
		"fault":    {campaign.FaultPause, campaign.FaultSessionKill, campaign.FaultNoop},
		"mode":     {string(workload.Directed), string(workload.Random)},
		"point":    texts(histories.Points()),
		"until":    {string(campaign.UntilGranted), string(campaign.UntilRead), string(campaign.UntilWritten)},
		"expect":   {string(campaign.ExpectClean), string(campaign.ExpectViolation), string(campaign.ExpectAny)},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.MarkFlagDirname("out")
}

func join[T ~string](words []T) string { return strings.Join(texts(words), ", ") }
