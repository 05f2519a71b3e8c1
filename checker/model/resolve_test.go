package model

import (
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

func parse(t *testing.T, text string) *histories.History {
	t.Helper()
	h, err := histories.ParseText(strings.NewReader(text), "test.hist")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestOwnGrant(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string // what is said of the last operation
		hist string
		want string // its own grant
	}{
		{"The first ok acquire of a worker is its grant 1.", `
0 A acquire L -> fail held
1 A acquire L -> ok token=1
2 A write R x -> ok`, "A.1"},
		{"Acquires are counted over all locks.", `
guards: L -> R
0 A acquire K -> ok token=1
1 A acquire L -> ok token=1
2 A write R x -> ok`, "A.2"},
		{"The newest grant counts.", `
0 A acquire L -> ok token=1
1 A acquire L -> ok token=2
2 A write R x -> ok`, "A.2"},
		{"Once the newest is released, the one before counts.", `
0 A acquire L -> ok token=1
1 A acquire L -> ok token=2
2 A release L -> ok count=1
3 A write R x -> ok`, "A.1"},
		{"A failed release releases nothing.", `
0 A acquire L -> ok token=1
1 A acquire L -> ok token=2
2 A release L -> fail
3 A write R x -> ok`, "A.2"},
		{"If all are released, the newest counts.", `
0 A acquire L -> ok token=1
1 A release L -> ok
2 A write R x -> ok`, "A.1"},
		{"An unknown acquire gives no grant.", `
0 A acquire L -> info timeout
1 B acquire L -> ok token=1
2 A write R x -> ok`, ""},
		{"A grant may be named by the acquire.", `
0 A acquire L grant=first -> ok token=1
1 A acquire L -> ok token=2
2 A write R x grant=first -> ok`, "first"},
		{"A renewal may name the grant of an open acquire, which then failed.", `
0..9 A acquire L grant=g -> fail held
3    A renew L grant=g -> ok`, ""},
		{"A renewal during an acquire belongs to what that opens.", `
0..9 A acquire L -> ok token=1
3    A renew L -> ok`, "A.1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			b, err := Resolve(h)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if g := b.Own(len(h.Ops) - 1); g != nil {
				got = g.ID
			}
			if got != test.want {
				t.Errorf("own grant %q, want %q", got, test.want)
			}
		})
	}
}

func TestUnknownGrant(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"2 A write R x grant=A.7 -> ok", "2 A write R x under=B.1 -> ok", "2 A renew L grant=zz -> ok"} {
		h := parse(t, "0 A acquire L -> ok token=1\n1 B acquire L -> ok token=2\n"+line+"\n")
		_, err := Resolve(h)
		if !errors.Is(err, ErrUnknownGrant) || !strings.Contains(err.Error(), "test.hist:3:") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Cases that random histories hardly ever hit, each beside a look-alike.
func TestJudgeRareCases(t *testing.T) {
	t.Parallel()
	const none = "tokens: none\nguards: L -> R\ninitial: R = v0\n"
	tests := []struct {
		name        string
		hist        string
		stale, lost Answer
	}{
		{"Two reads of one number: the one that was asked for after an unnumbered write must see it.", none + `
0..10  A write R x -> ok
5..6   C read R -> ok value=v0 seq=0
11..12 B read R -> ok value=v0 seq=0`, Legal, Illegal},
		{"It may come between the two.", none + `
0..10  A write R x -> ok
5..6   C read R -> ok value=v0 seq=0
11..12 B read R -> ok value=x seq=0`, Legal, Legal},
		{"An unnumbered read after one of two reads of a number.", none + `
0..1   A write R x -> ok seq=1
0..20  C read R -> ok value=x seq=1
2..3   B read R -> ok value=x seq=1
4..5   D read R -> ok value=v0`, Legal, Illegal},
		{"A worker's own order counts where its times touch.", none + `
0..5   A write R x -> ok
5..6   A read R -> ok value=v0`, Legal, Illegal},
		{"Another worker's touching times do not.", none + `
0..5   A write R x -> ok
5..6   B read R -> ok value=v0`, Legal, Legal},
		{"An unanswered write that would be stale did not happen, if another write explains the value.", `
0      A acquire L -> ok token=1
10     B acquire L -> ok token=2
20..21 B write R x -> ok
30..   A write R x
40     B read R -> ok value=x`, Legal, Legal},
		{"If only it explains the value, it happened, and is stale.", `
0      A acquire L -> ok token=1
10     B acquire L -> ok token=2
20..21 B write R y -> ok
30..   A write R x
40     B read R -> ok value=x`, Illegal, Legal},
		{"A worker goes back to its own older grant, with another's between, at touching times.", none + `
0      A acquire L -> ok
2      B acquire L -> ok
4      A acquire L -> ok
10..11 A write R x grant=A.2 -> ok
11..12 A write R y grant=A.1 -> ok`, Illegal, Legal},
		{"Without another's between, they are one grant.", none + `
0      A acquire L -> ok
4      A acquire L -> ok
10..11 A write R x grant=A.2 -> ok
11..12 A write R y grant=A.1 -> ok`, Legal, Legal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			compare(t, h, map[string]int{})
			j := only(t, h).Judge(t.Context(), Limits{})
			if j.Stale != test.stale || j.Lost != test.lost {
				t.Errorf("stale-write %v, want %v; lost-update %v, want %v", j.Stale, test.stale, j.Lost, test.lost)
			}
		})
	}
}
