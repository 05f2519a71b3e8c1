//go:build unix

package checker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// The benchmarks of this file measure judgements on large histories, from a history in
// memory whose operations know their grants ([model.Resolve], which all judgements share
// and BenchmarkCheck counts) to a verdict whose proof was checked. Beside ns/op they
// report
//
//	cpu-ms      time of processors in the fastest run: the same on a busy machine
//	Mops/s      million operations judged a second, on the wall
//	peak-MB     the most that was reachable at once, beyond the history itself
//	exponent    growth: time from 1e5 to 1e6 operations, as a power of their number
//
// The memory is measured in a run of its own, with a collector that is made to look
// often; all else with the collector as it is.

// sizes of the histories, in operations.
var sizes = []int{100_000, 1_000_000}

type shapeOf struct {
	name string
	plan func(operations int) simulate.Plan
}

// campaigns are one lock with 20 workers who all read, and 200 locks with five workers
// each; one operation in a hundred is not answered.
func campaigns() []shapeOf {
	one := func(n int) simulate.Plan { return simulate.One(n, 20) }
	noTokens := func(n int) simulate.Plan {
		p := simulate.Many(n)
		p.NoTokens, p.Fence = true, histories.FenceOff
		return p
	}
	return []shapeOf{{"one", one}, {"many", simulate.Many}, {"many-without-tokens", noTokens}}
}

// judgement is one thing to be measured. It has the grants of all operations.
type judgement struct {
	name  string
	judge func(b *model.Book) error
}

var (
	staleQuestion = model.Question{Values: true, Grants: true}
	lostQuestion  = model.Question{Values: true, Bases: true}
)

func judgements() []judgement {
	grants := func(judge func(context.Context, *exact.Ledger)) func(*model.Book) error {
		return func(b *model.Book) error {
			judge(context.Background(), exact.NewLedger(b))
			return nil
		}
	}
	return []judgement{
		{"stale-write", func(b *model.Book) error { return certified(b, model.Legal, staleQuestion) }},
		{"lost-update", func(b *model.Book) error { return certified(b, model.Legal, lostQuestion) }},
		{"both", func(b *model.Book) error { return certified(b, model.Legal, staleQuestion, lostQuestion) }},
		{"exclusion", grants(func(ctx context.Context, l *exact.Ledger) { exact.Exclusion(ctx, l) })},
		{"token-order", func(b *model.Book) error { exact.TokenOrder(b); return nil }},
		{"over-fencing", grants(func(_ context.Context, l *exact.Ledger) { exact.OverFencing(l) })},
		{"hold", grants(func(_ context.Context, l *exact.Ledger) { exact.Hold(l) })},
		{"live-grant", grants(func(ctx context.Context, l *exact.Ledger) { exact.LiveGrant(ctx, l) })},
		{"belief", grants(func(ctx context.Context, l *exact.Ledger) { exact.Belief(ctx, l) })},
		{"progress", grants(func(_ context.Context, l *exact.Ledger) { exact.Progress(l) })},
	}
}

// certified splits the history by resource, and has all questions about each decided by
// the exact solver and confirmed, as many resources at a time as there are processors.
// The answer has to be the given one on all of them, or on one at least if it is illegal.
func certified(b *model.Book, want model.Answer, questions ...model.Question) error {
	resources := b.Resources()
	answers, errs := make([]model.Answer, len(resources)), make([]error, len(resources))
	work := make(chan int)
	var pool sync.WaitGroup
	for range min(len(resources), runtime.GOMAXPROCS(0)) {
		pool.Go(func() {
			for i := range work {
				answers[i], errs[i] = certifiedOne(resources[i], questions)
			}
		})
	}
	for i := range resources {
		work <- i
	}
	close(work)
	pool.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if got := slices.Max(answers); got != want || slices.Contains(answers, model.Undecided) {
		return fmt.Errorf("%s, want %s", got, want)
	}
	return nil
}

func certifiedOne(r *model.Resource, questions []model.Question) (model.Answer, error) {
	worst := model.Legal
	s := exact.NewSolver(r)
	for _, q := range questions {
		d := s.Decide(context.Background(), q)
		if err := r.Confirm(context.Background(), q, d); err != nil {
			return 0, err
		}
		if d.Answer == model.Undecided {
			return 0, fmt.Errorf("resource %s: undecided: %s", r.Name, d.Why)
		}
		worst = max(worst, d.Answer)
	}
	return worst, nil
}

// BenchmarkJudgement measures each judgement alone, on valid histories.
func BenchmarkJudgement(b *testing.B) {
	for _, s := range campaigns() {
		for _, j := range judgements() {
			if s.name == "many-without-tokens" && j.name == "token-order" {
				continue
			}
			b.Run(s.name+"/"+j.name, func(b *testing.B) {
				took := map[int]float64{}
				for _, n := range sizes {
					b.Run(fmt.Sprint(n), func(b *testing.B) {
						book := resolved(b, s.plan(n))
						took[n] = measure(b, n, func() error { return j.judge(book) })
						if first := took[sizes[0]]; n > sizes[0] && first > 0 {
							b.ReportMetric(math.Log(took[n]/first)/math.Log(float64(n)/float64(sizes[0])), "exponent")
						}
					})
				}
			})
		}
	}
}

// BenchmarkPlanted measures the two properties of resources where one violation is
// hidden at nine tenths of the history.
func BenchmarkPlanted(b *testing.B) {
	for _, s := range campaigns()[:2] {
		for _, v := range []struct {
			name  string
			plant simulate.Plant
			ask   model.Question
		}{{"stale-write", simulate.StaleWrite, staleQuestion}, {"lost-update", simulate.LostUpdate, lostQuestion}} {
			for _, n := range sizes {
				b.Run(fmt.Sprintf("%s/%s/%d", s.name, v.name, n), func(b *testing.B) {
					plan := s.plan(n)
					plan.Plant = v.plant
					book := resolved(b, plan)
					measure(b, n, func() error { return certified(book, model.Illegal, v.ask) })
				})
			}
		}
	}
}

// BenchmarkCheck measures all of Check: every property, coverage, witnesses.
func BenchmarkCheck(b *testing.B) {
	for _, s := range campaigns() {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				h := simulate.Campaign(s.plan(n))
				measure(b, n, func() error {
					r, err := checker.Check(context.Background(), h, checker.Options{})
					if err == nil && r.Verdict != checker.Valid {
						err = fmt.Errorf("%s: %s", r.Verdict, r.Why)
					}
					return err
				})
			})
		}
	}
}

func resolved(b *testing.B, p simulate.Plan) *model.Book {
	b.Helper()
	book, err := model.Resolve(simulate.Campaign(p))
	if err != nil {
		b.Fatal(err)
	}
	return book
}

// measure runs a judgement of n operations, and returns the seconds of the fastest run.
func measure(b *testing.B, n int, judge func() error) (best float64) {
	b.Helper()
	peak := memoryOf(b, judge)
	runtime.GC()
	best = math.Inf(1)
	used := math.Inf(1)
	for b.Loop() {
		start, busy := time.Now(), processor(b)
		if err := judge(); err != nil {
			b.Fatal(err)
		}
		best, used = min(best, time.Since(start).Seconds()), min(used, (processor(b)-busy).Seconds())
	}
	b.ReportMetric(1000*used, "cpu-ms")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
	b.ReportMetric(float64(n)/best/1e6, "Mops/s")
	return best
}
