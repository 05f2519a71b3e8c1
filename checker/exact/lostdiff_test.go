package exact_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

var lostQuestion = model.Question{Values: true, Bases: true}

// TestLostAgainstPorcupine compares lost-update with Porcupine on random histories.
func TestLostAgainstPorcupine(t *testing.T) {
	forRandom(t, 14, []string{"legal", "illegal", "undecided"}, compareLost)
}

// TestUpdatesAgainstPorcupine does the same where nearly every write has a base.
func TestUpdatesAgainstPorcupine(t *testing.T) {
	forUpdates(t, 12, []string{"legal", "illegal", "undecided"}, compareLost)
}

// forUpdates calls f with random histories of updates, as forRandom does.
func forUpdates(t *testing.T, most int, must []string, f func(t *testing.T, h *histories.History, r *model.Resource, seen map[string]int)) {
	t.Parallel()
	seen := map[string]int{}
	for round := range diffRounds() {
		h := randomUpdates(rand.New(rand.NewPCG(7, uint64(round))), most)
		if err := histories.Validate(h); err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, text(h))
		}
		b, err := model.Resolve(h)
		if err != nil { // a write is decided under a grant that is not there yet
			seen["not resolved"]++
			continue
		}
		seen["histories"]++
		for _, r := range b.Resources() {
			f(t, h, r, seen)
		}
		if t.Failed() {
			t.Fatalf("round %d:\n%s", round, text(h))
		}
	}
	t.Log(seen)
	for _, must := range must {
		if seen[must] == 0 {
			t.Errorf("no history was %s: %v", must, seen)
		}
	}
}

// compareLost compares the exact answer with Porcupine's, replays an order pair by
// pair, and has Porcupine confirm a core.
func compareLost(t *testing.T, _ *histories.History, r *model.Resource, seen map[string]int) {
	t.Helper()
	d := exact.NewSolver(r).Decide(context.Background(), lostQuestion)
	seen[d.Answer.String()]++
	if d.Answer == model.Undecided {
		seen["undecided: "+d.Why]++
		return
	}
	if want := r.Decide(context.Background(), lostQuestion, model.Limits{}); d.Answer != want {
		t.Errorf("lost-update: %v, Porcupine: %v", d.Answer, want)
		return
	}
	if d.Answer == model.Illegal {
		seen[fmt.Sprintf("core of %02d", len(d.Core))]++
	}
	proveLost(t, r, d)
	if seen["histories"]%5 == 0 {
		compareWays(t, r, d.Answer, seen)
	}
}

// proveLost replays an order pair by pair, or has Porcupine confirm a core.
func proveLost(t *testing.T, r *model.Resource, d model.Decision) {
	t.Helper()
	switch d.Answer {
	case model.Legal:
		if err := replayBases(r, d.Order); err != nil {
			t.Errorf("lost-update: order %v: %v", d.Order, err)
		}
	case model.Illegal:
		confirmCore(t, r, lostQuestion, d.Core)
		confirmBases(t, r, d.Core)
	}
}

// compareWays: what large and difficult histories go through says the same on small
// and easy ones, if it says anything.
func compareWays(t *testing.T, r *model.Resource, want model.Answer, seen map[string]int) {
	t.Helper()
	ctx := context.Background()
	if d := exact.NewSolver(r).Decide(ctx, model.Question{Values: true}); len(d.Order) == 0 {
		return // not explained, or nothing happened
	}
	layers := exact.LostInLayers(ctx, r)
	parts, regions := exact.LostByRegion(ctx, r)
	seen["layers "+layers.Answer.String()]++
	seen[fmt.Sprintf("%d regions %v", min(regions, 3), parts.Answer)]++
	for _, d := range []model.Decision{layers, parts} {
		proveLost(t, r, d)
		if d.Answer != model.Undecided && d.Answer != want {
			t.Errorf("lost-update by another way: %v, not %v", d.Answer, want)
		}
	}
}

// replayBases: an order explains the values, and keeps writes on their bases, pair by
// pair.
func replayBases(r *model.Resource, order []int32) error {
	if err := replay(r, lostQuestion, order); err != nil {
		return err
	}
	ops := r.Operations()
	for k, i := range order {
		w := &ops[i]
		if !w.Write || w.Base < 0 {
			continue
		}
		from := slices.Index(order[:k], w.Base)
		if from < 0 {
			return fmt.Errorf("%d stands before its base", i)
		}
		for _, j := range order[from:k] {
			if y := &ops[j]; y.Write && y.Acked && y.Worker != w.Worker {
				return fmt.Errorf("%d lies between %d and its base", j, i)
			}
		}
	}
	return nil
}

// confirmBases: no write has another base in a core than in the whole, and every
// write without an answer has a read that proves it.
func confirmBases(t *testing.T, r *model.Resource, core []int32) {
	t.Helper()
	ops := r.Operations()
	var places []int
	for _, i := range core {
		places = append(places, ops[i].At)
		read := slices.ContainsFunc(core, func(j int32) bool { return ops[j].Read && ops[j].Value == ops[i].Value })
		if ops[i].Write && !ops[i].Acked && !read {
			t.Errorf("core %v: nothing proves write %d", core, i)
		}
	}
	part := r.Only(places).Operations()
	for k := range part {
		if b := part[k].Base; b >= 0 && core[b] != ops[core[k]].Base {
			t.Errorf("core %v: write %d has another base", core, core[k])
		}
	}
}

// TestLostAgainstAllOrders compares lost-update with rule 4 word for word, over all
// orders.
func TestLostAgainstAllOrders(t *testing.T) {
	forRandom(t, 7, []string{"legal", "illegal"}, compareAllOrders)
}

// TestUpdatesAgainstAllOrders does the same where nearly every write has a base.
func TestUpdatesAgainstAllOrders(t *testing.T) {
	forUpdates(t, 7, []string{"legal", "illegal"}, compareAllOrders)
}

func compareAllOrders(t *testing.T, h *histories.History, r *model.Resource, seen map[string]int) {
	d := exact.NewSolver(r).Decide(context.Background(), lostQuestion)
	seen[d.Answer.String()]++
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	s := slowLost{b: b, h: h, ops: r.Ops}
	if want := s.explained(nil); d.Answer != model.Undecided && (d.Answer == model.Legal) != want {
		t.Errorf("lost-update: %v, in all orders %v", d.Answer, want)
	}
}
