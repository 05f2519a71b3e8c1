package exact_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestJoined puts small histories one after the other on one resource. The long
// history is legal if all of its parts are, and a core of it lies in one part: what is
// difficult in one place does not spoil the answer elsewhere.
func TestJoined(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{false, true} { // workers in all parts?
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("same=%v/%d", same, seed), func(t *testing.T) {
				t.Parallel()
				legal, illegal := smallParts(t, seed, 200)
				decideJoined(t, join(legal, same), model.Legal)
				middle := append(append(legal[:100:100], illegal), legal[100:]...)
				decideJoined(t, join(middle, same), model.Illegal)
			})
		}
	}
}

func decideJoined(t *testing.T, h *histories.History, want model.Answer) {
	t.Helper()
	if err := histories.Validate(h); err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	r := b.Resources()[0]
	byRegion, regions := exact.LostByRegion(context.Background(), r)
	if regions < 100 {
		t.Errorf("%d regions", regions)
	}
	for _, d := range []model.Decision{exact.NewSolver(r).Decide(context.Background(), lostQuestion), exact.LostInLayers(context.Background(), r), byRegion} {
		if d.Answer != want || len(d.Core) > 12 {
			t.Errorf("%v %s, core %v; want %v", d.Answer, d.Why, d.Core, want)
		}
		proveLost(t, r, d)
	}
}

// smallParts makes small histories of updates that Porcupine finds legal, and one that
// it finds illegal although the values are explained. They have few unanswered writes.
func smallParts(t *testing.T, seed uint64, n int) (legal []*histories.History, illegal *histories.History) {
	t.Helper()
	for round := uint64(0); len(legal) < n || illegal == nil; round++ {
		h := randomUpdates(rand.New(rand.NewPCG(seed, round)), 10)
		b, err := model.Resolve(h)
		if err != nil {
			continue
		}
		r := b.Resources()[0]
		q := lostQuestion
		q.Bases = false
		answer := r.Decide(context.Background(), lostQuestion, model.Limits{})
		switch {
		case exact.NewSolver(r).Decide(context.Background(), lostQuestion).Answer == model.Undecided:
		case answer == model.Legal:
			legal = append(legal, h)
		case r.Decide(context.Background(), q, model.Limits{}) == model.Legal:
			illegal = h
		}
	}
	return legal, illegal
}

// join shifts histories so that each begins after all operations of the one before
// were answered, with a write of its initial value.
func join(parts []*histories.History, same bool) *histories.History {
	long := &histories.History{Header: parts[0].Header}
	grants := map[string]int{}
	now, commits := int64(0), int64(0)
	for k, h := range parts {
		rename := func(v string) string { return fmt.Sprint(v, "-", k) }
		worker := func(p string) string {
			if same {
				return p
			}
			return rename(p)
		}
		long.Ops = append(long.Ops, histories.Operation{
			Process: rename("start"), F: histories.Write, Type: histories.OK, Resource: "R", Value: histories.Some(rename("v0")), Invoke: now, Return: now,
		})
		end, last, before := now, int64(0), map[string]int{}
		for _, o := range h.Ops {
			before[worker(o.Process)] = grants[worker(o.Process)]
		}
		for _, o := range h.Ops {
			o.Process, o.Invoke, o.Return = worker(o.Process), o.Invoke+now+ms, o.Return+now+ms
			end = max(end, o.Return)
			if v, known := o.Value.Get(); known {
				o.Value = histories.Some(rename(v))
			}
			if n, known := o.Seq.Get(); known {
				o.Seq, last = histories.Some(n+commits), max(last, n)
			}
			if o.F == histories.Acquire {
				grants[o.Process]++
			}
			if _, n, found := strings.Cut(o.Under, "."); found {
				var of int
				fmt.Sscan(n, &of)
				o.Under = fmt.Sprintf("%s.%d", o.Process, before[o.Process]+of)
			}
			long.Ops = append(long.Ops, o)
		}
		now, commits = end+ms, commits+last+1
	}
	for i := range long.Ops {
		long.Ops[i].ID = int64(i)
	}
	return long
}
