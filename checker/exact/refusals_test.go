package exact_test

import (
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
)

func TestOverFencing(t *testing.T) {
	t.Parallel()
	const (
		one   = "0..2 A acquire L ttl=1000 -> ok token=1\n"
		write = "10..12 A write R v token=1 -> fail fenced\n"
	)
	tests := []struct {
		name    string
		hist    string
		want    string // what it comes to
		checked int
	}{
		{"The only holder is refused.", one + write, "wrong", 1},
		{"Reads and opens are refused as wrongly.", one + "10..12 A read R token=1 -> fail fenced\n13..14 A open R token=1 -> fail fenced", "wrong", 2},
		{"Sent without a token it is as wrong.", one + "10..12 A write R v -> fail fenced", "wrong", 1},
		{"It may say at which number it refused.", one + "10..12 A write R v token=1 -> fail fenced seq=3", "wrong", 1},
		{"Other reasons than the token are none.", one + "10..12 A write R v token=1 -> fail conflict", "", 0},
		{"An unanswered write was not refused.", one + "10..12 A write R v token=1 -> info timeout", "", 0},
		{"Whoever has no grant has nothing to be refused.", "10..12 A write R v token=1 -> fail fenced", "", 0},
		{"Nor one whose acquire has no answer.", "0..2 A acquire L ttl=1000 grant=A.1 -> info\n10..12 A write R v token=1 grant=A.1 -> fail fenced", "", 0},
		{"An old token of the holder's own is refused rightly.", one + "3..4 A acquire L ttl=1000 -> ok token=2\n10..12 A write R v token=1 -> fail fenced", "", 0},
		{"Though not if it acts under that grant.", one + "3..4 A acquire L ttl=1000 -> ok token=2\n10..12 A write R v token=1 grant=A.1 -> fail fenced", "wrong", 1},
		{"A token that nobody has is refused rightly.", one + "10..12 A write R v token=7 -> fail fenced", "", 0},
		{"Without tokens the grants alone count.", "tokens: none\n0..2 A acquire L ttl=1000 -> ok\n10..12 A write R v -> fail fenced", "wrong", 1},

		// A newer grant of another worker.
		{"A newer grant excuses, before it touched the resource.", one + "5..6 B acquire L ttl=9 -> ok token=2\n" + write, "right", 1},
		{"So does one that was asked for, and answered later.", one + write + "11..900 B acquire L ttl=9 -> ok token=2", "right", 1},
		{"Even in the instant of the answer.", one + write + "12..900 B acquire L ttl=9 -> ok token=2", "right", 1},
		{"Not one that was asked for after the answer.", one + write + "12.000001..900 B acquire L ttl=9 -> ok token=2", "wrong", 1},
		{"Not one that was refused.", one + "5..6 B acquire L ttl=9 -> fail held\n" + write, "wrong", 1},
		{"Not one of another lock.", "guards: L -> R\n" + one + "5..6 B acquire M ttl=9 -> ok token=2\n" + write, "wrong", 1},
		{"Not one of its own worker.", one + "5..6 A acquire L ttl=9 -> ok token=2\n10..12 A write R v token=1 grant=A.1 -> fail fenced", "wrong", 1},
		{"Not an older one by its token, though it was asked for later.", "0..9 A acquire L ttl=1000 -> ok token=2\n5..8 B acquire L ttl=1 -> ok token=1\n10..12 A write R v token=2 -> fail fenced", "wrong", 1},
		{"Without tokens one that overlaps may be newer.", "tokens: none\n0..9 A acquire L ttl=1000 -> ok\n5..8 B acquire L ttl=1 -> ok\n10..12 A write R v -> fail fenced", "right", 1},
		{"A grant long before is older.", "tokens: none\n0..1 B acquire L ttl=1 -> ok\n5..6 A acquire L ttl=1000 -> ok\n10..12 A write R v -> fail fenced", "wrong", 1},

		// Given back.
		{"After its release it may be refused.", one + "5..6 A release L -> ok\n" + write, "right", 1},
		{"And after one without an answer.", one + "5..6 A release L -> info timeout\n" + write, "right", 1},
		{"A refused release is none.", one + "5..6 A release L -> fail lost\n" + write, "wrong", 1},
		{"One after the operation does not excuse.", one + write + "13..14 A release L -> ok", "wrong", 1},
		{"An ok one ends what is nested with the grant that it names.", one + "3..4 A acquire L ttl=1000 -> ok token=1\n5..6 A release L -> ok\n10..12 A write R v token=1 grant=A.1 -> fail fenced", "right", 1},
		{"One that leaves a hold does not.", one + "3..4 A acquire L ttl=1000 -> ok token=1\n5..6 A release L -> ok count=1\n10..12 A write R v token=1 grant=A.1 -> fail fenced", "wrong", 1},

		// The promise.
		{"When the lease is over nobody knows what the resource knew.", "0..2 A acquire L ttl=9 -> ok token=1\n" + write, "doubt", 0},
		{"Exactly at its end, too.", "0..2 A acquire L ttl=12 -> ok token=1\n" + write, "doubt", 0},
		{"A nanosecond earlier it stood.", "0..2 A acquire L ttl=12 -> ok token=1\n10..11.999999 A write R v token=1 -> fail fenced", "wrong", 1},
		{"A renewal makes it longer.", "0..2 A acquire L ttl=9 -> ok token=1\n5..6 A renew L -> ok\n" + write, "wrong", 1},
		{"Not one that was refused.", "0..2 A acquire L ttl=9 -> ok token=1\n5..6 A renew L -> fail lost\n" + write, "doubt", 0},
		{"Nor one without an answer.", "0..2 A acquire L ttl=9 -> ok token=1\n5..6 A renew L -> info timeout\n" + write, "doubt", 0},
		{"Nor one that is answered when the lease was over: the resource may have looked before.", "0..2 A acquire L ttl=11 -> ok token=1\n5..11.5 A renew L -> ok\n" + write, "doubt", 0},
		{"One that is answered in time takes over during the operation.", "0..2 A acquire L ttl=11 -> ok token=1\n5..10.5 A renew L -> ok\n" + write, "wrong", 1},
		{"A lease that the store ended too early was promised all the same.", one + "5 store expire L of A\n" + write, "wrong", 1},
		{"What was ended on purpose was not.", one + "5 store revoke L of A\n" + write, "doubt", 0},
		{"Without a ttl it stands until the store is seen to end it.", "0..2 A acquire L -> ok token=1\n900000 A write R v token=1 -> fail fenced", "wrong", 1},
		{"Then it is over.", "0..2 A acquire L -> ok token=1\n5 store expire L of A\n" + write, "doubt", 0},

		{"In shared mode larger tokens stand beside each other.", "needs: shared\n0..2 A acquire L mode=shared ttl=1000 -> ok token=1\n" + write, "", 0},
		{"An exclusive holder has a shared rival.", "needs: shared\n" + one + "5..6 B acquire L mode=shared ttl=9 -> ok token=2\n" + write, "right", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := book(t, test.hist)
			got, want := exact.OverFencing(exact.NewLedger(b)), ""
			switch {
			case len(got.Wrong) > 0:
				want = "wrong"
			case got.Doubt != nil:
				want = "doubt"
			case got.Checked > 0:
				want = "right"
			}
			if want != test.want || got.Checked != test.checked {
				t.Errorf("%d checked, %q, want %d, %q", got.Checked, want, test.checked, test.want)
			}
			if word := exact.NewPlain(b).OverFencing(); word.Invalid != (test.want == "wrong") || word.Uncertain != (test.want == "doubt") {
				t.Errorf("the rule word for word says %+v", word)
			}
		})
	}
}

func TestRefusalNamesItsPromises(t *testing.T) {
	t.Parallel()
	got := exact.OverFencing(exact.NewLedger(book(t, `
0..2   A acquire L ttl=11          -> ok token=1
5..6   A renew L                   -> ok
9..40  A write R v token=1         -> fail fenced
10..12 A renew L ttl=20            -> ok
25..26 A renew L ttl=100           -> ok`)))
	if len(got.Wrong) != 1 || len(got.Wrong[0].Promises) != 3 || got.Wrong[0].End != 125_000_000 {
		t.Errorf("%+v", got.Wrong)
	}
}

func TestRefusalMargin(t *testing.T) {
	t.Parallel()
	got := exact.OverFencing(exact.NewLedger(book(t, `
0..2   A acquire L ttl=9           -> ok token=1
10..12 A write R v token=1         -> fail fenced
13..15 A write R v token=1         -> fail fenced`)))
	if m, known := got.Margin.Get(); !known || m != 3_000_000 {
		t.Errorf("margin %d, %v", m, known)
	}
}
