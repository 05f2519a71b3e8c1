package exact_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestWitnesses: what is told of a violation, as a history of its own, is the same
// violation again.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	for round := range diffRounds() / 4 {
		h := randomHistory(rand.New(rand.NewPCG(99, uint64(round))))
		b, err := model.Resolve(h)
		if err != nil {
			continue
		}
		for _, x := range exact.Exclusion(context.Background(), exact.NewLedger(b)).Breaches {
			told["exclusion"]++
			w := witness.Exclusion(b, x)
			judgeWitness(t, h, w)
			if len(exact.Exclusion(context.Background(), exact.NewLedger(book(t, w.Histories))).Breaches) == 0 {
				t.Errorf("exclusion is valid in\n%s", w.Histories)
			}
		}
		for _, f := range exact.TokenOrder(b).Faults {
			told["token-order"]++
			w := witness.TokenOrder(b, f)
			judgeWitness(t, h, w)
			if len(exact.TokenOrder(book(t, w.Histories)).Faults) == 0 {
				t.Errorf("token-order is valid in\n%s", w.Histories)
			}
		}
		if t.Failed() {
			t.Fatalf("round %d:\n%s", round, text(h))
		}
	}
	if told["exclusion"] < 600 || told["token-order"] < 200 {
		t.Errorf("only %v were told", told)
	}
}

func judgeWitness(t *testing.T, h *histories.History, w witness.Witness) {
	t.Helper()
	n := len(w.Story)
	if n < 3 || n > 7 || w.Story[n-1].Mood != witness.Wrong || w.Title == "" || w.Lock == "" {
		t.Errorf("a story of %d sentences: %+v", n, w)
	}
	for i, s := range w.Story {
		if s.Op >= 0 && !slices.Contains(w.Ops, s.Op) || s.TimeNS < 0 || s.TimeNS == histories.Never {
			t.Errorf("sentence %d: %+v", i, s)
		}
		if s.Mood == witness.Right || strings.Contains(s.Text, "right thing") {
			t.Errorf("the store is said to be right: %s", s.Text)
		}
	}
	for _, i := range append(slices.Clone(w.Core), w.Stale) {
		if !slices.Contains(w.Ops, i) {
			t.Errorf("operation %d is in the core and not among %v", i, w.Ops)
		}
	}
	if w.BeginNS > w.EndNS || w.EndNS == histories.Never || len(h.Ops) <= w.Ops[len(w.Ops)-1] {
		t.Errorf("from %d to %d", w.BeginNS, w.EndNS)
	}
}
