package checker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestDamaged: simulated histories with something changed in them, so that anything may be
// wrong or only strange, have an answer; and no part of the checker contradicts another.
func TestDamaged(t *testing.T) {
	t.Parallel()
	var seen tally
	t.Run("seeds", func(t *testing.T) {
		inParts(t, rounds(6000), func(t *testing.T, seed int) {
			r := rand.New(rand.NewPCG(uint64(seed), 6))
			edits := make([]byte, 4*(1+r.IntN(6)))
			for i := range edits {
				edits[i] = byte(r.IntN(256))
			}
			checkDamaged(t, seed, edits, &seen)
		})
	})
	t.Log(seen.count)
	for _, must := range []string{"judged", "invalid", "valid", "unknown"} {
		if seen.count[must] < rounds(6000)/50 {
			t.Errorf("only %d histories were %s", seen.count[must], must)
		}
	}
}

// FuzzDamaged does the same with the changes that the fuzzer thinks of.
func FuzzDamaged(f *testing.F) {
	for seed := range 60 {
		f.Add(uint16(seed), []byte{byte(seed), byte(seed * 7), byte(seed % 13), byte(seed * 31)})
	}
	f.Fuzz(func(t *testing.T, seed uint16, edits []byte) { checkDamaged(t, int(seed), edits, &tally{}) })
}

func checkDamaged(t *testing.T, seed int, edits []byte, seen *tally) {
	t.Helper()
	h := anyHistory(seed)
	for range min(len(edits)/4, 30) {
		if d := damage(h, edits[0], edits[1], edits[2], edits[3]); histories.Validate(d) == nil {
			h = d
		}
		edits = edits[4:]
	}
	r, err := checker.Check(context.Background(), h, checker.Options{})
	switch {
	case errors.Is(err, checker.ErrUnknownGrant):
		seen.add("a grant of nobody", 1)
		return
	case err != nil:
		t.Fatalf("seed %d: %v\n%s", seed, err, text(h))
	}
	seen.add("judged", 1)
	seen.add(string(r.Verdict), 1)
	if seed%8 == 0 {
		sameAgain(t, h, &r)
	}
}

// damage changes one operation: which one, how, and by what.
func damage(h *histories.History, which, how, by, other byte) *histories.History {
	c := changed(h, func(*histories.Operation) {})
	if len(c.Ops) == 0 {
		return c
	}
	o, p := &c.Ops[int(which)%len(c.Ops)], &c.Ops[int(other)%len(c.Ops)]
	n := int64(by)
	switch how % 16 {
	case 0: // the answer is not known
		o.Type, o.Held, o.Seq, o.HoldsLeft, o.TTL = histories.Info, histories.Option[bool]{}, histories.Option[int64]{}, histories.Option[int64]{}, 0
		if o.F == histories.Read {
			o.Value = histories.Option[string]{}
		}
		if o.F == histories.Acquire {
			o.Token, o.GrantLate, o.Grant = histories.Option[int64]{}, false, ""
		}
	case 1, 2:
		o.Token, p.Token = p.Token, o.Token
	case 3:
		o.Token = histories.Some(n - 3)
	case 4, 5:
		o.Seq, p.Seq = p.Seq, o.Seq
	case 6:
		o.Seq = histories.Some(n)
	case 7, 8, 9:
		o.Value, p.Value = p.Value, o.Value
	case 10:
		o.Return = max(o.Invoke, o.Return-n*100_000)
	case 11:
		o.Grant, p.Grant = p.Grant, o.Grant
	case 12:
		o.Under = p.Grant
	case 13:
		o.TTLAsked, o.TTL = n, 0
	case 14: // it was somebody else
		o.Process, o.ID = p.Process, int64(1000+len(c.Ops)+int(which))
	case 15:
		k := int(which) % len(c.Ops)
		c.Ops = slices.Delete(c.Ops, k, k+1)
	}
	return c
}
