package exact_test

import (
	"math/rand/v2"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestGuardsAgainstTheRules compares over-fencing, hold and progress with the rules
// word for word, on small random histories.
func TestGuardsAgainstTheRules(t *testing.T) {
	t.Parallel()
	const parts = 2
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for round := range diffRounds() / parts {
				h := guardHistory(rand.New(rand.NewPCG(uint64(part)+77, uint64(round))))
				compareGuards(t, h, seen)
				if t.Failed() {
					t.Fatalf("part %d, round %d:\n%s", part, round, text(h))
				}
			}
			t.Log(seen)
			for _, property := range []string{"over-fencing", "hold", "progress"} {
				for _, verdict := range []string{"valid, checked", "valid, not judged", "invalid", "unknown"} {
					if must := property + " " + verdict; seen[must] == 0 {
						t.Errorf("no history was %s: %v", must, seen)
					}
				}
			}
		})
	}
}

func compareGuards(t *testing.T, h *histories.History, seen map[string]int) {
	t.Helper()
	if err := histories.Validate(h); err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil { // a grant is named before it was there
		seen["not resolved"]++
		return
	}
	seen["resolved"]++
	l, plain := exact.NewLedger(b), exact.NewPlain(b)
	refusals, guarded, progressed := exact.OverFencing(l), exact.Hold(l), exact.Progress(l)
	sameAnswer(t, "over-fencing", seen, plain.OverFencing(), len(refusals.Wrong), refusals.Checked, refusals.Doubt != nil)
	sameAnswer(t, "hold", seen, plain.Hold(), len(guarded.Outside), guarded.Checked, guarded.Doubt != nil)
	sameAnswer(t, "progress", seen, plain.Progress(), len(progressed.Stalls), progressed.Checked, progressed.Doubt != nil)
}

func sameAnswer(t *testing.T, property string, seen map[string]int, want exact.PlainAnswer, faults, checked int, doubt bool) {
	t.Helper()
	verdict := "valid, not judged"
	switch {
	case faults > 0:
		verdict = "invalid"
	case doubt:
		verdict = "unknown"
	case checked > 0:
		verdict = "valid, checked"
	}
	seen[property+" "+verdict]++
	if (faults > 0) != want.Invalid || faults == 0 && doubt != want.Uncertain {
		t.Errorf("%s: %s, by the rules %+v", property, verdict, want)
	}
	if faults > checked {
		t.Errorf("%s: %d faults in %d cases", property, faults, checked)
	}
}
