package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// randomGrants makes grants of one lock: tokens none, ordered, or in a mess (some
// equal, some missing), times that touch.
func randomGrants(t *testing.T, r *rand.Rand) []*Grant {
	t.Helper()
	h := &histories.History{}
	workers, tokens := 1+r.IntN(4), r.IntN(3)
	clock := make([]int64, workers)
	for n := range 2 + r.IntN(9) {
		who := r.IntN(workers)
		o := histories.Operation{Process: fmt.Sprint(who), F: histories.Acquire, Lock: "L", Type: histories.OK, ID: int64(n)}
		o.Invoke = clock[who] + r.Int64N(3)
		o.Return = o.Invoke + r.Int64N(5)
		clock[who] = o.Return
		switch {
		case tokens == 1:
			o.Token = histories.Some(int64(n))
		case tokens == 2 && r.IntN(5) > 0:
			o.Token = histories.Some(r.Int64N(3))
		}
		h.Ops = append(h.Ops, o)
	}
	slices.SortStableFunc(h.Ops, func(a, b histories.Operation) int { return int(a.Invoke - b.Invoke) })
	b, err := Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	return b.Grants
}

// A front knows what the set of touched grants knows, and depends on nothing else.
func TestFront(t *testing.T) {
	t.Parallel()
	outdated, twins := 0, 0
	for round := range 20000 {
		r := rand.New(rand.NewPCG(7, uint64(round)))
		grants := randomGrants(t, r)
		var touched []*Grant
		for range r.IntN(len(grants) + 1) {
			touched = append(touched, grants[r.IntN(len(grants))])
		}
		f := noFront
		for _, g := range touched {
			f = f.with(g)
		}
		r.Shuffle(len(touched), func(i, j int) { touched[i], touched[j] = touched[j], touched[i] })
		again := noFront
		for _, g := range touched {
			again = again.with(g)
		}
		if f != again {
			t.Fatalf("round %d: %v in one order, %v in another", round, f, again)
		}
		for _, a := range grants {
			want := slices.ContainsFunc(touched, func(g *Grant) bool { return Parted(a, g) })
			if f.outdates(a) != want {
				t.Fatalf("round %d: %s outdated: %v; front %v", round, a.ID, !want, f)
			}
			if want {
				outdated++
			}
		}
		if f.twin >= 0 {
			twins++
		}
	}
	if outdated == 0 || twins == 0 {
		t.Errorf("%d outdated grants, %d fronts with a twin", outdated, twins)
	}
}

// Locks of their own have fronts of their own.
func TestFronts(t *testing.T) {
	t.Parallel()
	order := func(worker string) []*Grant {
		o := &lockOrder{}
		for k := range 3 {
			g := &Grant{Worker: worker + string(rune('a'+k)), place: rank{order: o, pos: k, newer: k + 1, nested: k + 1}}
			o.grants = append(o.grants, g)
		}
		return o.grants
	}
	one, two, three := order("x"), order("y"), order("z")
	st := State{front: noFront, fronts: manyFronts(2)}
	st = st.touch(2, three[1]).touch(0, one[2]).touch(1, two[0])
	for slot, want := range map[int32]front{0: {2, -1, -1}, 1: {0, -1, -1}, 2: {1, -1, -1}} {
		if got := st.of(slot); got != want {
			t.Errorf("lock %d: %v, want %v", slot, got, want)
		}
	}
	if other := (State{front: noFront, fronts: manyFronts(2)}).touch(1, two[0]).touch(2, three[1]).touch(0, one[2]); other != st {
		t.Error("the order of touches matters")
	}
}
