package checker_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// One takeover: 110 ms late, told 1 ms after it went on, its release refused and a
// renewal after the loss answered ok. A release of a live lease counts for nothing.
func TestCard(t *testing.T) {
	t.Parallel()
	h, err := histories.ParseText(strings.NewReader(`
0..2       1 acquire L ttl=1500        -> ok token=33 ttl=2000
10..11     1 renew L                   -> ok ttl=2000
100..2120  2 acquire L ttl=1500        -> ok token=34 ttl=2000
500        nemesis pause 1 point=checked
2121..2122 2 write R b1 token=34       -> ok seq=1
2122..2123 2 release L                 -> ok
2150       nemesis resume 1
2151       1 lost L
2152..2153 1 write R a1 token=33       -> ok seq=2
2154..2155 1 renew L                   -> ok ttl=2000
2156..2157 1 release L                 -> fail lost
`[1:]), "card.hist")
	if err != nil {
		t.Fatal(err)
	}
	r, err := checker.Check(t.Context(), h, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := checker.CardOf(h, r)
	if err != nil {
		t.Fatal(err)
	}
	want := checker.Card{
		Version: 1, Tokens: histories.TokensOrdered, TokenOrder: checker.Valid, TTLAskedMS: 1500, TTLMS: 2000,
		Takeovers: 1, LateMS: checker.Spread{N: 1, Min: 110, Median: 110, Max: 110},
		Losses: 1, Told: 1, ToldAfterMS: checker.Spread{N: 1, Min: 1, Median: 1, Max: 1}, ReleaseNo: 1, RenewOK: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
