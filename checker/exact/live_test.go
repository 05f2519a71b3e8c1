package exact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// dead names an answer for a dead lease: "A.1 acquired, line", "A.1 renewed, B.1".
func dead(d *exact.DeadGrant) string {
	what, by := "acquired", "line"
	if d.Renewed() {
		what = "renewed"
	}
	if d.Newer != nil {
		by = d.Newer.ID
	}
	return d.Grant.ID + " " + what + ", " + by
}

func TestLiveGrant(t *testing.T) {
	t.Parallel()
	const one = "0..2 A acquire L ttl=1000 -> ok token=1\n"
	tests := []struct {
		name    string
		hist    string
		want    []string
		checked int
	}{
		// The acquire, and an end line.
		{"A grant whose end nobody saw is no case.", one + "500 A renew L -> ok", nil, 0},
		{"A grant that ended after its answer is alive.", one + "1000 store expire L of A", nil, 1},
		{"One that ended before it is dead.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"Also if it was ended on purpose.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100 store revoke L of A", []string{"A.1 acquired, line"}, 1},
		{"Also without a ttl.", "0..1200 A acquire L -> ok token=1\n1100 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"Or without a token.", "tokens: none\n0..1200 A acquire L ttl=1000 -> ok\n1100 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"At the same instant it may still have been alive.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1200 store expire L of A", nil, 1},
		{"A late answer alone proves nothing.", "0..9000 A acquire L ttl=1000 -> ok token=1", nil, 0},
		{"Nor does another worker's line.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100 store expire L of B", nil, 0},
		{"Nor that of another lock.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100 store expire M of A", nil, 0},
		{"Nor one that is not certain.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100.. store expire L of A -> info", nil, 0},
		{"Nor an end of which only the span is known, if that goes beyond the answer.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100..1300 store expire L of A", nil, 1},
		{"A span within the acquire is as good as an instant.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100..1199 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"An acquire that says no, or nothing, is not untrue.", "0..1200 A acquire L ttl=1000 -> fail lost\n1100 store expire L of A", nil, 0},
		{"The death of a worker says nothing of the lease.", "0..1200 A acquire L ttl=1000 -> ok token=1\n1100 nemesis kill A", nil, 0},

		// Whose line it is.
		{"The line belongs to the older grant, which may still be open.", one + "900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", nil, 1},
		{"Not if that was released.", one + "5..6 A release L -> ok\n900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", []string{"A.2 acquired, line"}, 1},
		{"A release without an answer does not close it.", one + "5..6 A release L -> info\n900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", nil, 1},
		{"Nor does a refused one.", one + "5..6 A release L -> fail lost\n900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", nil, 1},
		{"Not if it has had its line.", one + "800 store expire L of A\n900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", []string{"A.2 acquired, line"}, 2},
		{"Unless it was renewed since: then that is the fault.", one + "800 store expire L of A\n810..820 A renew L -> ok\n900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", []string{"A.1 renewed, line"}, 2},
		{"It may be about an acquire that was given up, and whose lease the next one waited for.", "0..100 A acquire L ttl=1000 -> info timeout\n900..1100 A acquire L ttl=1000 -> ok token=2\n1000 store expire L of A", nil, 0},
		{"A second one is not.", "0..100 A acquire L ttl=1000 -> info timeout\n800..1100 A acquire L ttl=1000 -> ok token=2\n900 store expire L of A\n1000 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"Nor is the first, if what was given up was released by its name.", "0..100 A acquire L ttl=1000 grant=X -> info timeout\n101..102 A release L grant=X -> ok\n800..1100 A acquire L ttl=1000 -> ok token=2\n900 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"A refused acquire left nothing behind.", "0..100 A acquire L ttl=1000 -> fail taken\n800..1100 A acquire L ttl=1000 -> ok token=2\n900 store expire L of A", []string{"A.1 acquired, line"}, 1},
		{"A line from before the acquire is somebody else's.", "0 store expire L of A\n1..2 A acquire L ttl=1000 -> ok token=1", nil, 0},

		// The acquire, and a newer grant.
		{"A newer grant that was answered earlier ended the older one.", "0..9000 A acquire L ttl=1000 -> ok token=1\n1500..1501 B acquire L ttl=1000 -> ok token=2", []string{"A.1 acquired, B.1"}, 1},
		{"Not if that came too early: that is exclusion's fault.", "0..9000 A acquire L ttl=1000 -> ok token=1\n500..501 B acquire L ttl=1000 -> ok token=2", nil, 1},
		{"An older grant of another worker did not.", "0..9000 A acquire L ttl=1000 -> ok token=2\n1500..1501 B acquire L ttl=1000 -> ok token=1", nil, 1},
		{"Nor a newer one that was answered later.", one + "3..1500 B acquire L ttl=1000 -> ok token=2", nil, 1},
		{"Nor its own worker's.", one + "3..1500 A acquire L ttl=1000 -> ok token=2", nil, 0},
		{"Without tokens nobody knows which came first: the one may have had the lock for a moment.", "tokens: none\n0..9000 A acquire L ttl=1000 -> ok\n1500..1501 B acquire L ttl=1000 -> ok", nil, 0},
		{"Unless the promise of the other still stands at the answer.", "tokens: none\n0..9000 A acquire L ttl=1000 -> ok\n1500..1501 B acquire L ttl=8000 -> ok", []string{"A.1 acquired, B.1"}, 1},
		{"And it was not given up.", "tokens: none\n0..9000 A acquire L ttl=1000 -> ok\n1500..1501 B acquire L ttl=8000 -> ok\n1600 B release L -> ok", nil, 0},
		{"If neither can have been first, it is exclusion's fault.", "tokens: none\n0..9000 A acquire L ttl=10000 -> ok\n1500..1501 B acquire L ttl=8000 -> ok", nil, 0},
		{"Shared grants end no shared one.", "needs: shared\n0..9000 A acquire L mode=shared ttl=1000 -> ok token=1\n1500..1501 B acquire L mode=shared ttl=1000 -> ok token=2", nil, 0},
		{"An exclusive one does.", "needs: shared\n0..9000 A acquire L mode=shared ttl=1000 -> ok token=1\n1500..1501 B acquire L ttl=1000 -> ok token=2", []string{"A.1 acquired, B.1"}, 1},

		// Renewals.
		{"A renewal invoked after the end is a lie.", one + "1000 store expire L of A\n1001..1002 A renew L -> ok", []string{"A.1 renewed, line"}, 2},
		{"One that was invoked before, and is answered later, is none.", one + "999..5000 A renew L -> ok\n1000 store expire L of A", nil, 2},
		{"Nor at the same instant.", one + "1000 store expire L of A\n1000..1002 A renew L -> ok", nil, 2},
		{"Refused is right.", one + "1000 store expire L of A\n1001..1002 A renew L -> fail lost", nil, 1},
		{"No answer is no lie.", one + "1000 store expire L of A\n1001.. A renew L -> info", nil, 1},
		{"What was revived is told once.", one + "1000 store expire L of A\n1001..1002 A renew L -> ok\n1500 A renew L -> ok", []string{"A.1 renewed, line"}, 3},
		{"And again after the next end.", one + "1000 store expire L of A\n1001..1002 A renew L -> ok\n1500 store expire L of A\n1600 A renew L -> ok", []string{"A.1 renewed, line", "A.1 renewed, line"}, 3},
		{"A renewal after a newer grant is a lie, though that is over.", one + "1500..1501 B acquire L ttl=100 -> ok token=2\n2000 A renew L -> ok", []string{"A.1 renewed, B.1"}, 2},
		{"And each one after it.", one + "1500..1501 B acquire L ttl=100 -> ok token=2\n2000 A renew L -> ok\n2100 A renew L -> ok", []string{"A.1 renewed, B.1", "A.1 renewed, B.1"}, 3},
		{"While the newer promise stands it is exclusion's fault.", one + "1500..1501 B acquire L ttl=5000 -> ok token=2\n2000 A renew L -> ok", nil, 2},
		{"The second newer one may be legal where the first is not.", one + "500..501 B acquire L ttl=10 -> ok token=2\n1500..1501 C acquire L ttl=10 -> ok token=3\n2000 A renew L -> ok", []string{"A.1 renewed, C.1"}, 3},
		{"A lease that was released and taken by another must not be renewed.", one + "5..6 A release L -> ok\n7..8 B acquire L ttl=10 -> ok token=2\n100 A renew L grant=A.1 -> ok", []string{"A.1 renewed, B.1"}, 2},
		{"But a client may renew its session until it has given that up, too.", one + "5..200 A release L -> ok\n7..8 B acquire L ttl=10 -> ok token=2\n100 A renew L grant=A.1 -> ok", nil, 1},
		{"Or for good, if its release has no answer.", one + "5..6 A release L -> info\n7..8 B acquire L ttl=10 -> ok token=2\n100 A renew L grant=A.1 -> ok", nil, 1},
		{"A waiting client's renewals are its new grant's.", one + "1000 store expire L of A\n1001..1200 A acquire L ttl=1000 -> ok token=2\n1100 A renew L -> ok", nil, 1},

		// Every case is counted.
		{"Acquires and renewals of grants whose end is on record.", one + "500 A renew L -> ok\n1600 B acquire L ttl=1000 -> ok token=2\n2000 B renew L -> ok", nil, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := book(t, test.hist)
			got := exact.LiveGrant(context.Background(), exact.NewLedger(b))
			var names []string
			for i := range got.Dead {
				names = append(names, dead(&got.Dead[i]))
			}
			if strings.Join(names, "; ") != strings.Join(test.want, "; ") || got.Checked != test.checked {
				t.Errorf("%d checked, %q, want %d, %q", got.Checked, names, test.checked, test.want)
			}
			if exact.NewPlain(b).LiveGrant().Invalid != (len(test.want) > 0) {
				t.Error("the rules word for word say otherwise")
			}
		})
	}
}

func TestLiveMargin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hist string
		want int64 // ns; -1: absent
	}{
		{"From the answer of the acquire to the end line.", "0..2 A acquire L ttl=10 -> ok token=1\n12.5 store expire L of A", 10_500_000},
		{"Or from the last renewal's invocation.", "0..2 A acquire L ttl=10 -> ok token=1\n8..20 A renew L -> ok\n18.25 store expire L of A", 10_250_000},
		{"The smallest of all counts.", "0..2 A acquire L ttl=10 -> ok token=1\n12 store expire L of A\n13..14 B acquire L ttl=10 -> ok token=2\n15 store revoke L of B", 1_000_000},
		{"What ended before the answer has none.", "0..12 A acquire L ttl=10 -> ok token=1\n11 store expire L of A", -1},
		{"A newer grant is not timed: the lock may have passed on at once.", "0..2 A acquire L ttl=10 -> ok token=1\n3 A release L -> ok\n4 B acquire L ttl=10 -> ok token=2", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := exact.LiveGrant(context.Background(), exact.NewLedger(book(t, test.hist))).Margin.Or(-1); got != test.want {
				t.Errorf("%d ns, want %d", got, test.want)
			}
		})
	}
}

// As many workers as grants, all of them at once: pair by pair is too much, and the
// context ends it. What it had no time for is no violation.
func TestLiveGrantEndsWithTheContext(t *testing.T) {
	t.Parallel()
	h := &histories.History{Header: histories.Header{Tokens: histories.TokensNone}}
	for i := range 3000 {
		h.Ops = append(h.Ops, histories.Operation{Process: fmt.Sprint(i), F: histories.Acquire, Type: histories.OK, Lock: "L",
			ID: int64(i), Invoke: int64(i), Return: int64(5000 + i), TTL: int64(1 + i%2)})
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	l := exact.NewLedger(b)
	if got := exact.LiveGrant(gone, l); !got.Undecided || len(got.Dead) > 0 {
		t.Errorf("%d dead of %d, undecided: %v", len(got.Dead), got.Checked, got.Undecided)
	}
	if got := exact.LiveGrant(context.Background(), l); got.Undecided || len(got.Dead) > 0 {
		t.Errorf("%d dead of %d, undecided: %v", len(got.Dead), got.Checked, got.Undecided)
	}
}
