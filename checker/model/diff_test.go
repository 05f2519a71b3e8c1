package model

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

const diffRounds = 24000

// TestAgainstAllOrders compares the judge with a search through all orders that
// keeps the rules word for word, on small random histories.
func TestAgainstAllOrders(t *testing.T) {
	t.Parallel()
	const parts = 8
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for round := range diffRounds / parts {
				h := randomHistory(rand.New(rand.NewPCG(uint64(part), uint64(round))))
				compare(t, h, seen)
				if t.Failed() {
					t.Fatalf("part %d, round %d:\n%s", part, round, text(h))
				}
			}
			for _, must := range []string{"stale legal", "stale illegal", "lost legal", "lost illegal", "by number alone"} {
				if seen[must] == 0 {
					t.Errorf("no history was %s: %v", must, seen)
				}
			}
		})
	}
}

func compare(t *testing.T, h *histories.History, seen map[string]int) {
	t.Helper()
	b, err := Resolve(h)
	if err != nil { // a grant named before it was there
		seen["not resolved"]++
		return
	}
	s := slow{b: b, h: h}
	for _, a := range b.Grants {
		for _, g := range b.Grants {
			if Older(a, g) != s.older(a, g) {
				t.Errorf("Older(%s, %s) is %v", a.ID, g.ID, Older(a, g))
			}
			if Parted(a, g) != s.parted(a, g) {
				t.Errorf("Parted(%s, %s) is %v", a.ID, g.ID, Parted(a, g))
			}
		}
	}
	for _, r := range b.Resources() {
		stale, lost := s.judge(r.Ops)
		j := r.Judge(context.Background(), Limits{})
		if j.Stale != stale || j.Lost != lost {
			t.Errorf("stale-write %v, all orders %v; lost-update %v, all orders %v", j.Stale, stale, j.Lost, lost)
		}
		if small := r.Judge(context.Background(), Limits{Chunk: 1}); small != j {
			t.Errorf("in chunks of one: %+v, at once: %+v", small, j)
		}
		seen["stale "+stale.String()]++
		seen["lost "+lost.String()]++
		if j.StaleQuestion.SeqOnly {
			seen["by number alone"]++
		}
		compareScans(t, s, r, j)
	}
}

// compareScans: the direct scans find exactly the pairs and triples of the rules.
func compareScans(t *testing.T, s slow, r *Resource, j Judgement) {
	t.Helper()
	for _, seqOnly := range []bool{false, true} {
		found := map[int]bool{}
		for _, op := range r.StaleOperations(seqOnly) {
			found[op] = true
			if newer := r.FirstNewer(op, seqOnly); !s.makesStale(newer, op, seqOnly) {
				t.Errorf("operation %d does not make %d stale", newer, op)
			}
		}
		for _, x := range r.Ops {
			want := false
			for _, y := range r.Ops {
				want = want || s.makesStale(y, x, seqOnly)
			}
			if found[x] != want {
				t.Errorf("operation %d stale: %v (numbers only: %v)", x, found[x], seqOnly)
			}
		}
	}
	if n := len(r.StaleOperations(j.StaleQuestion.SeqOnly)); n > 0 && j.Stale == Legal {
		t.Errorf("%d stale operations, and Porcupine finds an order", n)
	}
	for _, l := range r.LostWrites(context.Background()) {
		if s.base(r.Ops, l.Write) != l.Base || !s.mustPrecede(l.Base, l.Lost, false) || !s.mustPrecede(l.Lost, l.Write, false) {
			t.Errorf("%+v is not lost", l)
		}
	}
	if len(r.LostWrites(context.Background()))+len(r.Orphans()) > 0 && j.Lost == Legal {
		t.Error("an update is lost, and Porcupine finds an order")
	}
	for _, seqOnly := range []bool{false, true} {
		for _, op := range r.StaleRefused(seqOnly) {
			ok := false
			for _, y := range r.Ops {
				ok = ok || s.makesStale(y, op, seqOnly)
			}
			if !ok {
				t.Errorf("refused operation %d is not stale", op)
			}
		}
	}
}

func (s slow) makesStale(y, x int, seqOnly bool) bool {
	accepted := s.h.Ops[y].Type == histories.OK && s.h.Ops[x].Type != histories.Info
	return y != x && accepted && s.counted(y) && s.counted(x) && s.parted(s.b.Own(x), s.b.Own(y)) && s.mustPrecede(y, x, seqOnly)
}

func text(h *histories.History) string {
	var b strings.Builder
	for i := range h.Ops {
		b.WriteString(histories.FormatOperation(&h.Ops[i]) + "\n")
	}
	return "fence " + string(h.Header.Fence) + "\n" + b.String()
}
