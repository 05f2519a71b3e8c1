package exact_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestClosedCores: what is told of a violation, closed up with all that may excuse it,
// is invalid by the rules word for word.
func TestClosedCores(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	for round := range diffRounds() {
		h := randomHistory(rand.New(rand.NewPCG(1234, uint64(round))))
		if round%50 == 0 {
			h = longHistory(rand.New(rand.NewPCG(1234, uint64(round))))
		}
		b, err := model.Resolve(h)
		if err != nil {
			continue
		}
		l := exact.NewLedger(b)
		for _, x := range exact.Exclusion(context.Background(), l).Breaches {
			told["exclusion"]++
			judgeClosed(t, l, witness.Exclusion(b, x).Core, (*exact.Plain).Exclusion)
		}
		for _, f := range exact.TokenOrder(b).Faults {
			told["token-order"]++
			judgeClosed(t, l, witness.TokenOrder(b, f).Core, (*exact.Plain).TokenOrder)
		}
		for _, d := range exact.LiveGrant(context.Background(), l).Dead {
			told["live-grant"]++
			w := witness.LiveGrant(l, d)
			judgeClosed(t, l, w.Core, (*exact.Plain).LiveGrant)
			judgeTold(t, h, w)
			if alone := exact.NewLedger(book(t, w.Histories)); len(exact.LiveGrant(context.Background(), alone).Dead) == 0 {
				t.Errorf("live-grant is valid in\n%s", w.Histories)
			}
		}
		for _, u := range exact.Belief(context.Background(), l).Untrue {
			told["belief"]++
			w := witness.Belief(l, u)
			judgeClosed(t, l, w.Core, (*exact.Plain).Belief)
			judgeTold(t, h, w)
			if alone := exact.NewLedger(book(t, w.Histories)); len(exact.Belief(context.Background(), alone).Untrue) == 0 {
				t.Errorf("belief is valid in\n%s", w.Histories)
			}
		}
		if t.Failed() {
			t.Fatalf("round %d:\n%s", round, text(h))
		}
	}
	for _, p := range []string{"exclusion", "token-order", "live-grant", "belief"} {
		if told[p] < 600 {
			t.Errorf("only %v were told", told)
		}
	}
}

func judgeClosed(t *testing.T, l *exact.Ledger, core []int, rule func(*exact.Plain) exact.PlainAnswer) {
	t.Helper()
	alone := witness.Closed(l, core)
	if alone == nil {
		t.Errorf("operations %v need too many others", core)
		return
	}
	if err := histories.Validate(alone); err != nil {
		t.Errorf("%v\n%s", err, text(alone))
	}
	again, err := model.Resolve(alone)
	if err != nil {
		t.Fatalf("%v\n%s", err, text(alone))
	}
	if !rule(exact.NewPlain(again)).Invalid {
		t.Errorf("operations %v are not invalid alone:\n%s", core, text(alone))
	}
}

// judgeTold: a story that a person can follow, of operations that are in the witness.
func judgeTold(t *testing.T, h *histories.History, w witness.Witness) {
	t.Helper()
	n := len(w.Story)
	if n < 2 || n > 7 || w.Story[n-1].Mood != witness.Wrong || w.Title == "" || w.Lock == "" {
		t.Errorf("a story of %d sentences: %+v", n, w)
	}
	for i, s := range w.Story {
		if s.Op >= 0 && !slices.Contains(w.Ops, s.Op) || s.TimeNS < 0 || s.TimeNS == histories.Never {
			t.Errorf("sentence %d: %+v", i, s)
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
