package exact_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/checker/model"
)

// BenchmarkOrder measures stale-write on large campaigns, one resource after the
// other: Solver and decision, without the splitting by resource before and the
// confirmation after. Allocated bytes are all that was ever asked for, not what was
// in use at once.
func BenchmarkOrder(b *testing.B) {
	for name, plan := range plans() {
		b.Run(name, func(b *testing.B) {
			book, err := model.Resolve(simulate.Campaign(plan))
			if err != nil {
				b.Fatal(err)
			}
			resources := book.Resources()
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range resources {
					d := exact.NewSolver(r).Decide(context.Background(), model.Question{Values: true, Grants: true})
					if want := plan.Plant == 0; d.Answer == model.Undecided || want != (d.Answer == model.Legal) && len(resources) == 1 {
						b.Fatalf("%s: %v %s", r.Name, d.Answer, d.Why)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(plan.Operations), "ns/operation")
		})
	}
}

// BenchmarkResources measures the splitting of a history by resource.
func BenchmarkResources(b *testing.B) {
	for name, plan := range plans() {
		b.Run(name, func(b *testing.B) {
			book, err := model.Resolve(simulate.Campaign(plan))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				book.Resources()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(plan.Operations), "ns/operation")
		})
	}
}

func plans() func(yield func(string, simulate.Plan) bool) {
	return func(yield func(string, simulate.Plan) bool) {
		for _, n := range []int{100_000, 1_000_000} {
			stale, noTokens, numbered := simulate.One(n, 20), simulate.Many(n), simulate.One(n, 20)
			stale.Plant, noTokens.NoTokens, numbered.Numbered = simulate.StaleWrite, true, true
			for _, p := range []struct {
				name string
				simulate.Plan
			}{{"one", simulate.One(n, 20)}, {"many", simulate.Many(n)}, {"stale", stale}, {"no-tokens", noTokens}, {"numbered", numbered}} {
				if !yield(fmt.Sprintf("%s/%d", p.name, n), p.Plan) {
					return
				}
			}
		}
	}
}
