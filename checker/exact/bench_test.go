package exact_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// campaign is an honest history of some n lock operations, spread over locks that
// five workers take in turn: acquire, two renewals, and a release or an expiry. The
// acquires of the waiting workers overlap the holder's.
func campaign(n, locks int, tokens bool) *histories.History {
	const workers = 5
	h := &histories.History{}
	if !tokens {
		h.Header.Tokens = histories.TokensNone
	}
	asked := make([]int64, locks*workers) // when each worker asked for the lock that it waits for
	add := func(o histories.Operation, from, to int64) {
		o.ID, o.Invoke, o.Return, o.Type = int64(len(h.Ops)), from, to, histories.OK
		h.Ops = append(h.Ops, o)
	}
	for turn := int64(0); len(h.Ops) < n; turn++ {
		for l := range locks {
			who := int(turn) % workers
			o := histories.Operation{Process: fmt.Sprintf("%d.%d", l, who), Lock: fmt.Sprintf("L%d", l), Grant: fmt.Sprintf("g%d", turn)}
			at := turn*100*ms + int64(l)
			acquire, renew, release := o, o, o
			acquire.F, acquire.TTLAsked = histories.Acquire, 60
			if tokens {
				acquire.Token = histories.Some(turn)
			}
			add(acquire, max(asked[l*workers+who], at-150*ms), at)
			renew.F, release.F = histories.Renew, histories.Release
			add(renew, at+10*ms, at+11*ms)
			add(renew, at+30*ms, at+31*ms)
			asked[l*workers+who] = at + 32*ms
			if turn%3 > 0 {
				add(release, at+90*ms, at+91*ms)
				asked[l*workers+who] = at + 92*ms
			}
		}
	}
	sortOps(h)
	return h
}

func BenchmarkExclusion(b *testing.B) {
	benchmark(b, func(book *model.Book) { exact.Exclusion(context.Background(), book) })
}

func BenchmarkTokenOrder(b *testing.B) {
	benchmark(b, func(book *model.Book) { exact.TokenOrder(book) })
}

func benchmark(b *testing.B, judge func(*model.Book)) {
	for _, tokens := range []bool{true, false} {
		for _, locks := range []int{1, 200} {
			for _, n := range []int{100_000, 400_000} {
				b.Run(fmt.Sprintf("tokens=%v/locks=%d/ops=%d", tokens, locks, n), func(b *testing.B) {
					book, err := model.Resolve(campaign(n, locks, tokens))
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					for b.Loop() {
						judge(book)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
				})
			}
		}
	}
}

func TestCampaignIsHonest(t *testing.T) {
	t.Parallel()
	for _, tokens := range []bool{true, false} {
		b, err := model.Resolve(campaign(5000, 3, tokens))
		if err != nil {
			t.Fatal(err)
		}
		if err := histories.Validate(b.History); err != nil {
			t.Fatal(err)
		}
		x := exact.Exclusion(context.Background(), b)
		if len(x.Breaches) > 0 || x.Checked < 1000 || !x.Margin.Known() {
			t.Errorf("%d of %d, margin %v", len(x.Breaches), x.Checked, x.Margin)
		}
		if o := exact.TokenOrder(b); len(o.Faults) > 0 || tokens != (o.Checked > 1000) {
			t.Errorf("%d of %d", len(o.Faults), o.Checked)
		}
	}
}
