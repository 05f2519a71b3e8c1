package checker_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestBeside: two histories that share nothing, side by side, are as bad as the worse of
// them, and have the cases and the violations of both.
func TestBeside(t *testing.T) {
	t.Parallel()
	var seen tally
	t.Run("seeds", func(t *testing.T) {
		inParts(t, rounds(1000), func(t *testing.T, seed int) {
			r := rand.New(rand.NewPCG(uint64(seed), 4))
			a, b := anyHistory(seed), rename(t, r, anyHistory(seed+1+2*r.IntN(500)))
			if a.Header.Tokens != b.Header.Tokens || a.Header.Fence != b.Header.Fence {
				return
			}
			seen.add("pairs", 1)
			both := beside(a, b)
			ra, rb, rc := check(t, a), check(t, b), check(t, both)
			for i := range rc.Properties {
				p, pa, pb := &rc.Properties[i], &ra.Properties[i], &rb.Properties[i]
				if p.Property == "progress" { // what is seen at the end of the one goes on in the other
					continue
				}
				want := worse(pa, pb)
				if p.Verdict != want || p.Checked != pa.Checked+pb.Checked || p.Violations != pa.Violations+pb.Violations {
					t.Errorf("seed %d: %s: %s, %d of %d; apart %s, %d of %d and %s, %d of %d\n%s", seed, p.Property, p.Verdict, p.Violations, p.Checked,
						pa.Verdict, pa.Violations, pa.Checked, pb.Verdict, pb.Violations, pb.Checked, text(both))
				}
			}
		})
	})
	if n := seen.count["pairs"]; n < rounds(1000)/20 {
		t.Errorf("only %d pairs", n)
	}
}

func worse(a, b *checker.PropertyResult) checker.Verdict { return checker.Worst(a.Verdict, b.Verdict) }

// beside puts two histories into one. Their guards are named, since neither has the only
// lock any more.
func beside(a, b *histories.History) *histories.History {
	c := &histories.History{Header: a.Header}
	c.Header.Guards, c.Header.Initial, c.Header.End = nil, map[string]string{}, histories.Option[int64]{}
	for k, h := range []*histories.History{a, b} {
		for _, o := range h.Ops {
			if o.F.OnResource() && o.Lock == "" {
				o.Lock = h.GuardOf(o.Resource)
			}
			if o.ByWorker() { // the store and the nemesis are one process now
				o.ID = int64(len(c.Ops))
			} else {
				o.ID = 2*o.ID + int64(k)
			}
			c.Ops = append(c.Ops, o)
		}
		for resource, v := range h.Header.Initial {
			c.Header.Initial[resource] = v
		}
	}
	slices.SortStableFunc(c.Ops, func(x, y histories.Operation) int { return cmp.Compare(x.Invoke, y.Invoke) })
	return c
}

// TestLaterAnswer: an answer that comes later takes order away, and adds none. It turns
// no valid history into an invalid one:
//
//   - of an operation on a resource, in every property of the resource and its fence;
//   - of a renewal, in exclusion;
//   - of an acquire, in exclusion too, as long as the tokens are usable before: otherwise
//     they might become so.
//
// (A later answer can make a grant a dead one, and a belief an outdated one.)
func TestLaterAnswer(t *testing.T) {
	t.Parallel()
	var seen tally
	t.Run("seeds", func(t *testing.T) {
		inParts(t, rounds(3000), func(t *testing.T, seed int) {
			h := anyHistory(seed)
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			i := lateOne(r, h)
			if i < 0 {
				return
			}
			before := check(t, h)
			late := changed(h, func(*histories.Operation) {})
			late.Header.End = histories.Option[int64]{}
			late.Ops[i].Return += 1 + r.Int64N(80_000_000)
			after := check(t, late)
			for _, p := range spared(late.Ops[i].F, &before) {
				was, is := before.Property(p), after.Property(p)
				if was == nil || was.Verdict != checker.Valid {
					continue
				}
				seen.add(string(late.Ops[i].F)+" "+string(p), 1)
				if is.Verdict == checker.Invalid {
					t.Errorf("seed %d: %s became invalid when operation %d was answered later\n%s\n%s", seed, p, i, text(h), text(late))
				}
			}
		})
	})
	for _, must := range []string{"read lost-update", "write lost-update", "write stale-write", "renew exclusion", "acquire exclusion"} {
		if seen.count[must] < rounds(3000)/100 {
			t.Errorf("only %d histories with: %s", seen.count[must], must)
		}
	}
}

// lateOne finds an operation that may be answered later: the last of its worker, so that
// nothing overlaps, or a renewal. It is -1 if there is none.
func lateOne(r *rand.Rand, h *histories.History) int {
	var found []int
	ended := map[string]bool{}
	for i := range slices.Backward(h.Ops) {
		o := &h.Ops[i]
		if !o.ByWorker() || o.F == histories.Lost {
			continue
		}
		last := o.F != histories.Renew && !ended[o.Process]
		ended[o.Process] = ended[o.Process] || last
		if o.Type == histories.OK && o.Return != histories.Never && (o.F == histories.Renew || last && (o.F.OnResource() || o.F == histories.Acquire)) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return -1
	}
	return found[r.IntN(len(found))]
}

// spared are the properties in which a later answer does no harm. If the values were not
// explained before, stale-write was judged without them.
func spared(f histories.F, before *checker.Result) []checker.Property {
	var list []checker.Property
	tokens := before.Property(checker.TokenOrder)
	switch {
	case f == histories.Renew, f == histories.Acquire && (tokens == nil || tokens.Verdict == checker.Valid):
		list = append(list, checker.Exclusion)
	case f.OnResource():
		list = append(list, checker.LostUpdate, checker.Exclusion, "hold", "over-fencing")
		if before.Property(checker.LostUpdate).Verdict == checker.Valid {
			list = append(list, checker.StaleWrite)
		}
	}
	return list
}

// TestCancelled: a context that ends is an error, at whatever moment, and never a verdict.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for seed := range 50 {
		if r, err := checker.Check(ctx, anyHistory(seed), checker.Options{}); err == nil {
			t.Errorf("seed %d: %s", seed, r.Verdict)
		}
	}
}
