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
// five workers take in turn: acquire, two renewals and a check, and a release, or an
// expiry of which the worker is told. The acquires of the waiting workers overlap the
// holder's.
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
			check, lost, line := o, o, histories.Operation{Process: histories.Store, F: histories.Expire, Lock: o.Lock, Target: o.Process}
			check.F, check.Held, lost.F = histories.Check, histories.Some(true), histories.Lost
			add(check, at+31*ms, at+32*ms)
			asked[l*workers+who] = at + 96*ms
			if turn%3 > 0 {
				add(release, at+90*ms, at+91*ms)
				continue
			}
			add(line, at+92*ms, at+92*ms)
			add(lost, at+95*ms, at+95*ms)
		}
	}
	sortOps(h)
	return h
}

func BenchmarkLedger(b *testing.B) {
	benchmark(b, func(l *exact.Ledger) { exact.NewLedger(l.Book()) })
}

func BenchmarkExclusion(b *testing.B) {
	benchmark(b, func(l *exact.Ledger) { exact.Exclusion(context.Background(), l) })
}

func BenchmarkTokenOrder(b *testing.B) {
	benchmark(b, func(l *exact.Ledger) { exact.TokenOrder(l.Book()) })
}

func BenchmarkLiveGrant(b *testing.B) {
	benchmark(b, func(l *exact.Ledger) { exact.LiveGrant(context.Background(), l) })
}

func BenchmarkBelief(b *testing.B) {
	benchmark(b, func(l *exact.Ledger) { exact.Belief(context.Background(), l) })
}

func benchmark(b *testing.B, judge func(*exact.Ledger)) {
	for _, tokens := range []bool{true, false} {
		for _, locks := range []int{1, 200} {
			for _, n := range []int{100_000, 400_000} {
				b.Run(fmt.Sprintf("tokens=%v/locks=%d/ops=%d", tokens, locks, n), func(b *testing.B) {
					book, err := model.Resolve(campaign(n, locks, tokens))
					if err != nil {
						b.Fatal(err)
					}
					l := exact.NewLedger(book)
					b.ReportAllocs()
					for b.Loop() {
						judge(l)
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
		l := exact.NewLedger(b)
		x := exact.Exclusion(context.Background(), l)
		if len(x.Breaches) > 0 || x.Checked < 900 || !x.Margin.Known() {
			t.Errorf("%d of %d, margin %v", len(x.Breaches), x.Checked, x.Margin)
		}
		if o := exact.TokenOrder(b); len(o.Faults) > 0 || tokens != (o.Checked > 900) {
			t.Errorf("%d of %d", len(o.Faults), o.Checked)
		}
		if v := exact.LiveGrant(context.Background(), l); len(v.Dead) > 0 || v.Checked < 2000 || !v.Margin.Known() {
			t.Errorf("%d of %d dead, margin %v", len(v.Dead), v.Checked, v.Margin)
		}
		if v := exact.Belief(context.Background(), l); len(v.Untrue) > 0 || v.Unsure > 0 || v.Checked < 1000 || !v.Margin.Known() {
			t.Errorf("%d of %d untrue, %d unsure, margin %v", len(v.Untrue), v.Checked, v.Unsure, v.Margin)
		}
	}
}
