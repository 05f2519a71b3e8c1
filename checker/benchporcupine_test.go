package checker_test

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// patience is how long Porcupine may take for one history.
const patience = 30 * time.Second

// BenchmarkBesidePorcupine asks both for stale-write on one history, in turns, and reports
// the medians: what the exact solver takes with its certificate, and what Porcupine takes
//
//   - plain: on a fenced register, as somebody would write it who uses Porcupine alone;
//   - spec: on our own specification, which knows grants and leaves out what cannot
//     matter, handed over as a whole.
//
// The ratios are against the faster of the two, and against that one's memory. Where
// Porcupine has no answer in 30 s, they are what is certain ("at least"), and undecided
// is 1.
func BenchmarkBesidePorcupine(b *testing.B) {
	for _, c := range []struct {
		name                string
		operations, workers int
		unknown             float64
		plant               simulate.Plant
		runs                int
	}{
		{"1e5-operations-5-clients-valid", 100_000, 5, 0, simulate.Nothing, 3},
		{"1e4-operations-5-clients-valid", 10_000, 5, 0, simulate.Nothing, 3},
		{"1e4-operations-5-clients-invalid", 10_000, 5, 0, simulate.StaleWrite, 3},
		{"1e3-operations-15-clients-valid", 1000, 15, 0, simulate.Nothing, 3},
		{"1e3-operations-15-clients-invalid", 1000, 15, 0, simulate.StaleWrite, 1},
		{"1e3-operations-50-clients-5%-unknown-valid", 1000, 50, 0.05, simulate.Nothing, 1},
		{"1e3-operations-50-clients-5%-unknown-invalid", 1000, 50, 0.05, simulate.StaleWrite, 1},
		{"1e4-operations-50-clients-5%-unknown-valid", 10_000, 50, 0.05, simulate.Nothing, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			plan := simulate.Busy(c.operations, c.workers)
			plan.Unknown, plan.Plant = c.unknown, c.plant
			want := model.Legal
			if c.plant != simulate.Nothing {
				want = model.Illegal
			}
			for b.Loop() {
				besidePorcupine(b, resolved(b, plan), want, c.runs)
			}
		})
	}
}

// contender is a way to ask for stale-write.
type contender struct {
	name    string
	ask     func() model.Answer
	seconds []float64
	memory  int64
	answer  model.Answer
}

func besidePorcupine(b *testing.B, book *model.Book, want model.Answer, runs int) {
	b.Helper()
	r := book.Resources()[0]
	all := []*contender{
		{name: "exact", ask: func() model.Answer {
			answer, err := certifiedOne(book.Resources()[0], []model.Question{staleQuestion})
			if err != nil {
				b.Fatal(err)
			}
			return answer
		}},
		{name: "plain", ask: func() model.Answer { return plainRegister(book.History) }},
		{name: "spec", ask: func() model.Answer {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return r.Decide(ctx, staleQuestion, model.Limits{Memory: 1 << 60, Chunk: math.MaxInt32})
		}},
	}
	for _, c := range all {
		c.memory = memoryOf(b, func() error { c.answer = c.ask(); return nil })
		if c.answer != want && (c.answer != model.Undecided || c.name == "exact") {
			b.Fatalf("%s: %s, want %s", c.name, c.answer, want)
		}
	}
	for range runs {
		for _, c := range all {
			if c.answer == model.Undecided { // it would take as long again
				c.seconds = append(c.seconds, patience.Seconds())
				continue
			}
			start := time.Now()
			c.ask()
			c.seconds = append(c.seconds, time.Since(start).Seconds())
		}
	}
	report(b, all)
}

func report(b *testing.B, all []*contender) {
	b.Helper()
	for _, c := range all {
		slices.Sort(c.seconds)
		b.ReportMetric(1000*c.median(), c.name+"-ms")
		b.ReportMetric(float64(c.memory)/(1<<20), c.name+"-MB")
	}
	ours, theirs := all[0], all[1]
	if all[2].median() < theirs.median() {
		theirs = all[2]
	}
	b.ReportMetric(theirs.median()/ours.median(), "times-as-long")
	b.ReportMetric(float64(theirs.memory)/float64(max(ours.memory, 1<<20)), "times-as-much")
	undecided := 0.0
	if theirs.answer == model.Undecided {
		undecided = 1
	}
	b.ReportMetric(undecided, "undecided")
}

func (c *contender) median() float64 { return c.seconds[len(c.seconds)/2] }

// register is a fenced register: the value, and the highest token that has written.
type register struct {
	value string
	token int64
}

// plainRegister asks Porcupine whether the accepted operations are those of a fenced
// register. A write without an answer may have happened or not; a read without one says
// nothing.
func plainRegister(h *histories.History) model.Answer {
	seed := maphash.MakeSeed()
	m := porcupine.Model{
		Init: func() any { return register{value: h.Header.Initial["R0"], token: math.MinInt64} },
		Step: func(state, input, _ any) (bool, any) {
			s, o := state.(register), input.(*histories.Operation)
			if o.F == histories.Read {
				return o.Value.Or("") == s.value, state
			}
			if token := o.Token.Or(0); token >= s.token {
				return true, register{o.Value.Or(""), token}
			}
			return o.Type != histories.OK, state
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(register)) },
	}
	var ops []porcupine.Operation
	clients := map[string]int{}
	for i := range h.Ops {
		o := &h.Ops[i]
		if !o.F.OnResource() || o.Type == histories.Fail || o.F == histories.Read && o.Type != histories.OK {
			continue
		}
		if _, known := clients[o.Process]; !known {
			clients[o.Process] = len(clients)
		}
		end := o.Return
		if o.Type != histories.OK {
			end = histories.Never
		}
		ops = append(ops, porcupine.Operation{ClientId: clients[o.Process], Input: o, Call: o.Invoke, Return: end})
	}
	switch porcupine.CheckOperationsTimeout(m, ops, patience) {
	case porcupine.Ok:
		return model.Legal
	case porcupine.Illegal:
		return model.Illegal
	}
	return model.Undecided
}

// The two specifications say the same.
func TestPlainRegisterAgrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		plan := simulate.Busy(300, 4)
		plan.Seed, plan.Unknown, plan.Plant = seed, 0.02, simulate.Plant(seed%2)
		book, err := model.Resolve(simulate.Campaign(plan))
		if err != nil {
			t.Fatal(err)
		}
		want := book.Resources()[0].Decide(context.Background(), staleQuestion, model.Limits{})
		if got := plainRegister(book.History); got != want || want == model.Undecided {
			t.Errorf("seed %d: %s, our specification %s", seed, fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
