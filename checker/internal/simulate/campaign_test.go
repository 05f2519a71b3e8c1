package simulate_test

import (
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/histories"
)

func TestCampaignIsWellFormed(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]simulate.Plan{"one": simulate.One(20_000, 20), "many": simulate.Many(20_000)} {
		for _, plant := range []simulate.Plant{simulate.Nothing, simulate.StaleWrite, simulate.LostUpdate} {
			t.Run(fmt.Sprintf("%s/%d", name, plant), func(t *testing.T) {
				t.Parallel()
				p := p // the others have theirs
				p.Plant = plant
				h := simulate.Campaign(p)
				if err := histories.Validate(h); err != nil {
					t.Fatal(err)
				}
				count := map[string]int{}
				for i := range h.Ops {
					o := &h.Ops[i]
					count[string(o.F)+" "+string(o.Type)+" "+o.Reason()]++
				}
				t.Log(len(h.Ops), count)
			})
		}
	}
}

func BenchmarkCampaign(b *testing.B) {
	for name, p := range map[string]simulate.Plan{"one": simulate.One(1_000_000, 20), "many": simulate.Many(1_000_000)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				simulate.Campaign(p)
			}
		})
	}
}
