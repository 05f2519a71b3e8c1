package exact_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/checker/model"
)

// campaigns are large histories: one resource that everybody reads all the time, and
// 200 resources that are read, written and read back; honest ones, one with a planted
// lost update, and some in which more is never answered.
func campaigns(n int) map[string]simulate.Plan {
	lost, open, unknown, numbered := simulate.One(n, 20), simulate.One(n, 50), simulate.Many(n), simulate.Many(n)
	lost.Plant, open.Unknown, unknown.Unknown, numbered.Numbered = simulate.LostUpdate, 0.05, 0.2, true
	return map[string]simulate.Plan{
		"one": simulate.One(n, 20), "many": simulate.Many(n), "lost": lost, "open": open, "unknown": unknown, "numbered": numbered,
	}
}

// TestCampaigns: an update that was lost in a large history is found, with few
// operations that prove it, and nothing else is.
func TestCampaigns(t *testing.T) {
	t.Parallel()
	for name, plan := range campaigns(20_000) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := model.Resolve(simulate.Campaign(plan))
			if err != nil {
				t.Fatal(err)
			}
			illegal := 0
			for _, r := range b.Resources() {
				d := exact.NewSolver(r).Decide(context.Background(), lostQuestion)
				switch d.Answer {
				case model.Undecided:
					t.Errorf("%s: %s", r.Name, d.Why)
				case model.Illegal:
					illegal++
					confirmCore(t, r, lostQuestion, d.Core)
					confirmBases(t, r, d.Core)
					if len(d.Core) > 8 {
						t.Errorf("%s: a core of %d", r.Name, len(d.Core))
					}
				}
			}
			if planted := plan.Plant == simulate.LostUpdate; planted != (illegal > 0) {
				t.Errorf("%d resources with a lost update", illegal)
			}
		})
	}
}

// BenchmarkLostUpdate measures lost-update on large campaigns, one resource after the
// other, and both properties with one Solver for each resource.
func BenchmarkLostUpdate(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for name, plan := range campaigns(n) {
			book, err := model.Resolve(simulate.Campaign(plan))
			if err != nil {
				b.Fatal(err)
			}
			resources := book.Resources()
			for _, both := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%d/both=%v", name, n, both), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						for _, r := range resources {
							s := exact.NewSolver(r)
							if both {
								s.Decide(context.Background(), model.Question{Values: true, Grants: true})
							}
							if d := s.Decide(context.Background(), lostQuestion); d.Answer == model.Undecided {
								b.Fatalf("%s: %s", r.Name, d.Why)
							}
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(plan.Operations), "ns/operation")
				})
			}
		}
	}
}
