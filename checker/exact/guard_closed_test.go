package exact_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestGuardsClosedCores: what is told of a violation, closed up with what may excuse it,
// is invalid by the rules word for word; and so is the history that stands with the story.
func TestGuardsClosedCores(t *testing.T) {
	t.Parallel()
	told := map[string]int{}
	for round := range diffRounds() / 4 {
		h := guardHistory(rand.New(rand.NewPCG(4711, uint64(round))))
		b, err := model.Resolve(h)
		if err != nil {
			continue
		}
		l := exact.NewLedger(b)
		for _, r := range exact.OverFencing(l).Wrong {
			told["over-fencing"]++
			w := witness.OverFencing(l, r)
			judgeAlone(t, witness.Closed(l, w.Core), w, (*exact.Plain).OverFencing)
		}
		for _, x := range exact.Hold(l).Outside {
			told["hold"]++
			w := witness.Hold(l, x)
			judgeAlone(t, witness.Closed(l, w.Core), w, (*exact.Plain).Hold)
		}
		for _, s := range exact.Progress(l).Stalls {
			told["progress"]++
			w := witness.Progress(l, s)
			judgeAlone(t, witness.ClosedLock(l, w.Lock, w.Core, 0), w, (*exact.Plain).Progress) // the core alone
			judgeAlone(t, witness.ClosedLock(l, w.Lock, w.Core, witness.MaxWatched), w, (*exact.Plain).Progress)
		}
		if t.Failed() {
			t.Fatalf("round %d:\n%s", round, text(h))
		}
	}
	for _, p := range []string{"over-fencing", "hold", "progress"} {
		if told[p] < 100 {
			t.Errorf("only %v were told", told)
		}
	}
}

func judgeAlone(t *testing.T, closed *histories.History, w witness.Witness, rule func(*exact.Plain) exact.PlainAnswer) {
	t.Helper()
	shown, err := histories.ParseText(strings.NewReader(w.Histories), "shown")
	if err != nil {
		t.Fatalf("%v\n%s", err, w.Histories)
	}
	for _, alone := range []*histories.History{closed, shown} {
		if err := histories.Validate(alone); err != nil {
			t.Errorf("%v\n%s", err, text(alone))
		}
		b, err := model.Resolve(alone)
		if err != nil {
			t.Fatalf("%v\n%s", err, text(alone))
		}
		if !rule(exact.NewPlain(b)).Invalid {
			t.Errorf("operations %v are not invalid alone:\n%s", w.Core, text(alone))
		}
	}
}
