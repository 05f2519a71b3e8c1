//go:build linux

package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
	"github.com/leasehold-checker/leasehold/workload/child"
)

// BenchmarkThroughput prints how many operations 32 workers record in a second,
// all of them together, with the default generator and without pauses. Checks of
// the guard are not counted: they reach nobody.
func BenchmarkThroughput(b *testing.B) {
	const limit = 5 * time.Second
	cfg := campaign.Default()
	cfg.Mode, cfg.Fault, cfg.TimeLimit, cfg.Expect = workload.Random, campaign.FaultNoop, limit, campaign.ExpectAny
	cfg.LockNames, cfg.Workers = 16, 2
	cat := catalog.All()
	starter := child.NewStarter()
	var rate float64
	for b.Loop() {
		cfg.Out = b.TempDir()
		plan, err := campaign.NewPlan(cfg, cat)
		if err != nil {
			b.Fatal(err)
		}
		_, err = campaign.Run(b.Context(), plan, campaign.Env{
			Catalog: cat, Starter: starter, Progress: silent{}, ExitCode: outcomeCode,
			Interrupted: func(context.Context) campaign.Outcome { return "" },
		})
		if err != nil {
			b.Fatal(err)
		}
		rate += float64(recorded(b, cfg.Out)) / limit.Seconds()
	}
	b.ReportMetric(rate/float64(b.N), "ops/s")
	b.ReportMetric(0, "ns/op") // the time limit, which says nothing
}

// recorded counts the answered operations of workers.
func recorded(b *testing.B, out string) int {
	files, err := filepath.Glob(filepath.Join(out, "latest", "*", report.FileHistory))
	if err != nil || len(files) != 1 {
		b.Fatalf("histories: %q, %v", files, err)
	}
	h, err := histories.ReadFile(files[0])
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.ByWorker() && o.F != histories.Check && o.Answered() {
			n++
		}
	}
	return n
}
