package simulate_test

import (
	"math/rand/v2"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestWellFormed: what is simulated is a history, whatever it is about.
func TestWellFormed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		o := simulate.Honest(seed, simulate.Any(rand.New(rand.NewPCG(seed, 1))))
		if err := histories.Validate(o.History); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
