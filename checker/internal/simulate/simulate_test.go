package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/histories"
)

func TestDump(t *testing.T) {
	dir := os.Getenv("DUMP")
	if dir == "" {
		t.Skip()
	}
	bad := 0
	for seed := range uint64(3000) {
		o := simulate.Honest(seed, simulate.Any(rand.New(rand.NewPCG(seed, 1))))
		if err := histories.Validate(o.History); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		f, _ := os.Create(fmt.Sprintf("%s/%04d.hist", dir, seed))
		if err := histories.FormatText(f, o.History); err != nil {
			bad++
			f.Close()
			os.Remove(f.Name())
			continue
		}
		fmt.Fprintf(f, "# untrue %v\n", o.Untrue)
		f.Close()
	}
	t.Log(bad)
}
