package exact_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// diffRounds is how many random histories are compared; ROUNDS sets another number.
func diffRounds() int { return roundsOr(24_000) }

func roundsOr(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		return n
	}
	return usual
}

// TestAgainstTheRules compares the sweeps with the rules word for word, on small
// random histories; and every violation with the two grants that it names.
func TestAgainstTheRules(t *testing.T) {
	t.Parallel()
	const parts = 2
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for round := range roundsOr(100_000) / parts {
				h := randomHistory(rand.New(rand.NewPCG(uint64(part), uint64(round))))
				compare(t, h, seen)
				if t.Failed() {
					t.Fatalf("part %d, round %d:\n%s", part, round, text(h))
				}
			}
			t.Log(seen)
			for _, must := range []string{
				"exclusion valid", "exclusion invalid", "granted early", "renewed late", "order unknown", "both orders, one by renewal",
				"live-grant valid", "live-grant invalid", "live-grant margin", "dead by a line, acquired", "dead by a line, renewed",
				"dead by order, acquired", "dead by order, renewed", "dead without order, acquired",
				"belief valid", "belief invalid", "belief margin", "unsure", "lost while promised",
				"held without a grant", "held after release", "held after expire", "held after revoke", "held after acquire",
				"token-order valid", "token-order invalid", "shared token", "smaller token", "margin",
			} {
				if seen[must] == 0 {
					t.Errorf("no history was %s: %v", must, seen)
				}
			}
		})
	}
}

func compare(t *testing.T, h *histories.History, seen map[string]int) {
	t.Helper()
	if err := histories.Validate(h); err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil { // a grant is named before it was there
		seen["not resolved"]++
		return
	}
	seen["resolved"]++
	l, p := exact.NewLedger(b), exact.NewPlain(b)
	compareExclusion(t, l, p, seen)
	compareTokens(t, b, p, seen)
	compareLive(t, l, p, seen)
	compareBelief(t, l, p, seen)
}

func verdict(invalid bool) string {
	if invalid {
		return "invalid"
	}
	return "valid"
}

func compareExclusion(t *testing.T, l *exact.Ledger, s *exact.Plain, seen map[string]int) {
	t.Helper()
	got, want := exact.Exclusion(context.Background(), l), s.Exclusion().Invalid
	seen["exclusion "+verdict(want)]++
	if (len(got.Breaches) > 0) != want {
		t.Errorf("exclusion: %d breaches, by the rules %s", len(got.Breaches), verdict(want))
	}
	if got.Checked < len(got.Breaches) {
		t.Errorf("exclusion: %d breaches of %d cases", len(got.Breaches), got.Checked)
	}
	if m, known := got.Margin.Get(); known {
		seen["margin"]++
		if m < 0 {
			t.Errorf("exclusion: a margin of %d ns", m)
		}
	}
	for _, breach := range got.Breaches {
		for _, p := range breach.Proofs {
			compareProof(t, l.Book(), s, &p, len(breach.Proofs) == 1, seen)
		}
		if a, z := breach.Proofs[0], breach.Proofs[len(breach.Proofs)-1]; len(breach.Proofs) == 2 {
			seen["order unknown"]++
			if !a.Early() || !z.Early() {
				seen["both orders, one by renewal"]++
			}
			if a.Older != z.Newer || a.Newer != z.Older || s.Older(a.Older, a.Newer) || s.Older(a.Newer, a.Older) {
				t.Errorf("exclusion: the order of %s and %s is known", a.Older.ID, a.Newer.ID)
			}
		}
	}
}

// compareProof: what a proof says is a broken promise by itself.
func compareProof(t *testing.T, b *model.Book, s *exact.Plain, p *exact.Proof, known bool, seen map[string]int) {
	t.Helper()
	if known && !s.Older(p.Older, p.Newer) {
		t.Errorf("exclusion: %s is not older than %s", p.Older.ID, p.Newer.ID)
	}
	keeper, late := p.Older, &b.History.Ops[p.Late]
	if !p.Early() {
		keeper = p.Newer
		seen["renewed late"]++
		if s.Released(p.Older, p.Late, late.Return) || b.Own(p.Late) != p.Older || late.F != histories.Renew || late.Type != histories.OK || late.Invoke <= p.Newer.Return || b.History.Ops[p.Promise].Return > late.Invoke {
			t.Errorf("exclusion: operation %d is no late renewal of %s", p.Late, p.Older.ID)
		}
	} else {
		seen["granted early"]++
	}
	if b.Own(p.Promise) != keeper || p.End != s.End(keeper, p.Promise) || late.Return >= p.End || b.History.Ops[p.Promise].Invoke > late.Return || s.Excused(keeper, p.Promise, late.Return) {
		t.Errorf("exclusion: operation %d did not promise %s until after operation %d", p.Promise, keeper.ID, p.Late)
	}
}

func compareTokens(t *testing.T, b *model.Book, s *exact.Plain, seen map[string]int) {
	t.Helper()
	got, want := exact.TokenOrder(b), s.TokenOrder().Invalid
	seen["token-order "+verdict(want)]++
	if (len(got.Faults) > 0) != want || got.Checked < len(got.Faults) {
		t.Errorf("token-order: %d faults of %d cases, by the rules %s", len(got.Faults), got.Checked, verdict(want))
	}
	for _, f := range got.Faults {
		equal := f.Earlier.Token == f.Later.Token
		switch {
		case f.Shared:
			seen["shared token"]++
			if !equal || f.Earlier.Worker == f.Later.Worker {
				t.Errorf("token-order: %s and %s share no token", f.Earlier.ID, f.Later.ID)
			}
		default:
			seen["smaller token"]++
			if f.Later.Token.Or(0) >= f.Earlier.Token.Or(0) || !s.Before(f.Earlier, f.Later) {
				t.Errorf("token-order: %s has no smaller token than %s before it", f.Later.ID, f.Earlier.ID)
			}
		}
	}
}

func text(h *histories.History) string {
	var b strings.Builder
	if err := histories.FormatText(&b, h); err != nil {
		return fmt.Sprintf("%v: %+v", err, h.Ops)
	}
	return b.String()
}
