//go:build linux

package main

import (
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/store"
)

func newSchema() *cobra.Command {
	names := []string{"config", "summary", "result"}
	return &cobra.Command{
		Use:     "schema config|summary|result",
		GroupID: "history",
		Short:   "Print the JSON Schema of a file that leasehold reads or writes",
		Long: `Prints the JSON Schema (2020-12) of campaign files (config), of summary.json
(summary), or of result.json and check --json (result). The schemas are versioned with
the key "version" of those files.`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE:      func(cmd *cobra.Command, args []string) error { return printSchema(cmd, args[0]) },
	}
}

func printSchema(cmd *cobra.Command, name string) error {
	s, err := schemaOf(name)
	if err != nil {
		return withCode(exitInternal, err)
	}
	return printJSON(cmd, s)
}

func schemaOf(name string) (*jsonschema.Schema, error) {
	var s *jsonschema.Schema
	var err error
	options := &jsonschema.ForOptions{TypeSchemas: wordsOfTypes()}
	switch name {
	case "config":
		if s, err = jsonschema.For[campaign.Config](options); err == nil {
			describeCampaign(s)
		}
	case "summary":
		if s, err = jsonschema.For[report.Summary](options); err == nil {
			open(s)
			s.Properties["version"].Const = jsonschema.Ptr[any](report.SummaryVersion)
		}
	case "result":
		if s, err = jsonschema.For[checker.Result](options); err == nil {
			open(s)
			s.Properties["version"].Const = jsonschema.Ptr[any](checker.ResultVersion)
		}
	}
	if err != nil || s == nil {
		return nil, fmt.Errorf("make schema %s: %w", name, err)
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "leasehold " + name
	return s, nil
}

// open allows further keys, which any later version may bring.
func open(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	for _, p := range s.Properties {
		if p.Type == "object" && len(p.Properties) > 0 {
			open(p)
		}
		if p.Items != nil {
			open(p.Items)
		}
	}
}

// wordsOfTypes are the schemas of types that have few values.
func wordsOfTypes() map[reflect.Type]*jsonschema.Schema {
	one := func(words ...string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string"}
		for _, w := range words {
			s.Enum = append(s.Enum, w)
		}
		return s
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Duration](): {Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`, Description: "a duration, such as 2s or 1m30s"},
		// YAML 1.1 reads a bare off as false, and so do many editors.
		reflect.TypeFor[histories.Fence](): {Enum: []any{"off", "writes", "all", false}},
		reflect.TypeFor[workload.Guard]():  one(texts(workload.Guards())...),
		reflect.TypeFor[histories.Point](): one(append(texts(histories.Points()), "")...),
		reflect.TypeFor[workload.Mode]():   one(string(workload.Directed), string(workload.Random)),
		reflect.TypeFor[campaign.Until]():  one(string(campaign.UntilGranted), string(campaign.UntilRead), string(campaign.UntilWritten)),
		reflect.TypeFor[campaign.Expect](): one("", string(campaign.ExpectClean), string(campaign.ExpectViolation), string(campaign.ExpectAny)),
		reflect.TypeFor[store.Provision](): one(append(texts(store.Provisions()), "")...),
		reflect.TypeFor[checker.Verdict](): one(string(checker.Valid), string(checker.Invalid), string(checker.Unknown)),
	}
}

// describeCampaign makes every key but the version optional, and explains those that
// are flags as well in the words of the flag.
func describeCampaign(s *jsonschema.Schema) {
	s.Required = []string{"version"}
	s.Properties["version"].Const = jsonschema.Ptr[any](campaign.ConfigVersion)
	c := campaign.Default()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	bindCampaign(flags, &c)
	bindStore(flags, &c)
	bindSettings(flags, &c.Settings)
	cells := s.Properties["cells"]
	cells.Description = "blocks of cells, each with settings of its own; what a block does not say, the file says outside of it"
	cells.Items.Required = nil
	for _, properties := range []map[string]*jsonschema.Schema{s.Properties, cells.Items.Properties} {
		for key, flag := range map[string]string{
			"locks": "lock", "resources": "resource", "pairs": "pair", "guards": "guard", "fences": "fence", "points": "point",
			"images": "image", "endpoints": "endpoint", "time_limit": "time-limit", "lock_names": "locks", "fail_fast": "fail-fast", "no_control": "no-control",
			"name": "name", "seed": "seed", "out": "out", "budget": "budget", "inconclusive": "inconclusive", "provision": "provision",
			"fault": "fault", "mode": "mode", "until": "until", "pause": "pause", "ttl": "ttl", "work": "work", "trials": "trials",
			"workers": "workers", "expect": "expect", "token": "token", "driver": "driver", "driver_store": "driver-store",
		} {
			if p, f := properties[key], flags.Lookup(flag); p != nil && f != nil {
				p.Description = f.Usage
			}
		}
		if p := properties["floors"]; p != nil {
			p.Description = "the least that a cell must have done, or it stays inconclusive"
			p.Required = nil
		}
	}
}
