package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// rounds is the number of random histories: from the environment, or the given one.
func rounds(t testing.TB, usual int) int {
	t.Helper()
	text := os.Getenv("ROUNDS")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("ROUNDS: %v", err)
	}
	return n
}

// questions are all that a judge may ask, and all together.
func questions() []Question {
	return []Question{
		{Values: true, Grants: true, Bases: true}, {Values: true, Grants: true}, {Values: true, Bases: true},
		{Values: true}, {}, {Grants: true}, {Grants: true, SeqOnly: true},
	}
}

// TestDiffEngines: on random histories the just-in-time search, the resource's own
// numbers and Porcupine never contradict each other, and every proof of theirs holds.
func TestDiffEngines(t *testing.T) {
	t.Parallel()
	const parts = 8
	total := rounds(t, 100_000)
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for round := range total / parts {
				random := rand.New(rand.NewPCG(1000+uint64(part), uint64(round)))
				h := foldValues(random, randomHistory(random))
				b, err := Resolve(h)
				if err != nil { // a grant named before it was there
					continue
				}
				for _, r := range b.Resources() {
					q := questions()[round%len(questions())]
					compareEngines(t, r, q, seen)
				}
				if t.Failed() {
					t.Fatalf("part %d, round %d:\n%s", part, round, text(h))
				}
			}
			for _, must := range []string{"legal", "illegal", "by number"} {
				if seen[must] == 0 {
					t.Errorf("no history was %s: %v", must, seen)
				}
			}
		})
	}
}

// foldValues makes one history in four one with few values, so that every value has
// many writes.
func foldValues(random *rand.Rand, h *histories.History) *histories.History {
	if random.IntN(4) > 0 {
		return h
	}
	kinds := 2 + random.IntN(2)
	for i := range h.Ops {
		if v, known := h.Ops[i].Value.Get(); known && v != "" {
			h.Ops[i].Value = histories.Some(fmt.Sprint("v", int(v[len(v)-1])%kinds))
		}
	}
	return h
}

func compareEngines(t *testing.T, r *Resource, q Question, seen map[string]int) {
	t.Helper()
	ctx := context.Background()
	want := r.DecidePorcupine(ctx, q, Limits{})
	seen[want.Answer.String()]++
	if err := r.Confirm(ctx, q, want); err != nil {
		t.Errorf("Porcupine, %+v: %v", q, err)
	}
	got := r.DecideJIT(ctx, q, Limits{})
	if got.Answer != want.Answer {
		t.Errorf("%+v: %v, Porcupine: %v", q, got, want.Answer)
	}
	if err := r.Confirm(ctx, q, got); err != nil {
		t.Errorf("%+v: %v", q, err)
	}
	if guess := r.DecideByNumber(ctx); guess.Answer == Legal && r.Confirm(ctx, q, guess) == nil {
		seen["by number"]++
		if want.Answer != Legal {
			t.Errorf("%+v: the numbers name an order, Porcupine says %v", q, want.Answer)
		}
	}
}
