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

func book(t testing.TB, text string) *model.Book {
	t.Helper()
	h, err := histories.ParseText(strings.NewReader(text), "test.hist")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return b
}

// breach names the grants of a breach: "A.1 then B.1, early".
func breach(b *exact.Breach) string {
	p := &b.Proofs[0]
	switch {
	case len(b.Proofs) > 1:
		return p.Older.ID + " and " + p.Newer.ID
	case p.Early():
		return p.Older.ID + " then " + p.Newer.ID + ", early"
	}
	return p.Older.ID + " then " + p.Newer.ID + ", renewed"
}

func TestExclusion(t *testing.T) {
	t.Parallel()
	const two = `
0..2 A acquire L ttl=1000 -> ok token=1
`
	tests := []struct {
		name    string
		hist    string
		want    []string
		checked int
	}{
		// The promise.
		{"One grant has nobody beside it.", two, nil, 0},
		{"A promise runs for its ttl from the invocation.", two + "500..999.999999 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"It is over at its end, to the nanosecond, whatever the acquire's answer was.", two + "500..1000 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"Late expiry is always legal.", two + "500..9000 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"What the store granted wins over what was asked for.", "0..2 A acquire L ttl=1000 -> ok token=1 ttl=500\n3..600 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"And if it is longer, it counts, too.", "0..2 A acquire L ttl=1000 -> ok token=1 ttl=5000\n3..4000 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"A renewal is a promise like a grant.", two + "800..801 A renew L -> ok\n810..1799 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"It ends with the ttl from its own invocation.", two + "800..801 A renew L -> ok\n810..1800 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"A renewal has a ttl of its own, if it says so.", two + "800..801 A renew L ttl=100 -> ok\n810..1000 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"An unanswered renewal promises nothing.", two + "800..801 A renew L -> info\n810..1500 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"Nor does a refused one.", two + "800..801 A renew L -> fail lost\n810..1500 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"An unanswered acquire promises nothing, though it was renewed.", "0..2 A acquire L ttl=1000 grant=A.1 -> info\n3..4 A renew L grant=A.1 -> ok\n5..6 B acquire L ttl=9 -> ok token=2", nil, 0},
		{"Other locks have other holders.", two + "5..6 B acquire M ttl=9 -> ok token=2", nil, 0},
		{"A renewal while the worker waits promises nothing to those before it.", two + "100..1300 B acquire L ttl=400 grant=B.1 -> ok token=2\n700..701 B renew L grant=B.1 -> ok\n900..901 B renew L grant=B.1 -> ok", nil, 1},
		{"But it does against those after it.", two + "100..1300 B acquire L ttl=400 grant=B.1 -> ok token=2\n900..901 B renew L grant=B.1 -> ok\n1000..1299 C acquire L ttl=400 -> ok token=3", []string{"B.1 then C.1, early"}, 2},

		// What excuses.
		{"Without a ttl the promise has no end.", "0..2 A acquire L -> ok token=1\n900000..900001 B acquire L -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"A release ends it.", two + "5..6 A release L -> ok\n7..8 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"So may one that was only invoked.", two + "5..50 A release L -> ok\n7..8 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"So may one that is not answered.", two + "5..6 A release L -> info\n7..8 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"A refused one does not.", two + "5..6 A release L -> fail lost\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Nor one that was invoked after the next grant was answered.", two + "7..8 B acquire L ttl=9 -> ok token=2\n8.000001..9 A release L -> ok", []string{"A.1 then B.1, early"}, 1},
		{"At the same instant it may have been first.", two + "7..8 B acquire L ttl=9 -> ok token=2\n8..9 A release L -> ok", nil, 1},
		{"A renewal after the release promises anew.", two + "5..6 A release L -> ok\n7..8 A renew L grant=A.1 -> ok\n9..10 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Unless the release is still open, and may land later.", two + "5..6 A release L -> info\n7..8 A renew L grant=A.1 -> ok\n9..10 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"A release by another worker excuses nothing.", two + "3..4 C acquire L ttl=1 -> fail held\n5..6 C release L -> ok\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"An unanswered release excuses only the grant that it names.", two + "5..6 A acquire L ttl=1000 -> ok token=1\n7..8 A release L grant=A.1 -> info\n9..10 B acquire L ttl=9 -> ok token=2", []string{"A.2 then B.1, early"}, 1},
		{"An ok release without count= ends all nested grants.", two + "5..6 A acquire L ttl=1000 -> ok token=1\n7..8 A release L -> ok\n9..10 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"So does one with count=0.", two + "5..6 A acquire L ttl=1000 -> ok token=1\n7..8 A release L -> ok count=0\n9..10 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"One with holds left ends only the one that it names.", two + "5..6 A acquire L ttl=1000 -> ok token=1\n7..8 A release L -> ok count=1\n9..10 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"It ends no grant that was asked for after it.", two + "5..6 A release L -> ok\n7..8 A acquire L ttl=1000 -> ok token=2\n9..10 B acquire L ttl=9 -> ok token=3", []string{"A.2 then B.1, early"}, 1},
		{"Nor one that another worker's grant lies before.", two + "5..6 A release L -> ok\n7..8 B acquire L ttl=50 -> ok token=2\n100..101 A acquire L ttl=1000 -> ok token=3\n102..103 A release L grant=A.1 -> ok\n104..105 C acquire L ttl=9 -> ok token=4", []string{"A.2 then C.1, early"}, 3},
		{"A revocation on record excuses.", two + "5 store revoke L of A\n7..8 B acquire L ttl=9 -> ok token=2", nil, 1},
		{"Not that of another worker.", two + "5 store revoke L of C\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Not that of another lock.", two + "5 store revoke M of A\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Not one from before the promise.", "0 store revoke L of A\n1..2 A acquire L ttl=1000 -> ok token=1\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Not one from after the grant.", two + "7..8 B acquire L ttl=9 -> ok token=2\n9 store revoke L of A", []string{"A.1 then B.1, early"}, 1},
		{"With a ttl, an expiry before its end is the fault, not an excuse.", two + "5 store expire L of A\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Without a ttl it is a steal.", "0..2 A acquire L -> ok token=1\n5 store expire L of A\n7..8 B acquire L -> ok token=2", nil, 1},
		{"With a ttl, the holder's death ends nothing.", two + "5 nemesis kill A\n7..8 B acquire L ttl=9 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Without a ttl it does.", "0..2 A acquire L -> ok token=1\n5 nemesis kill A\n7..8 B acquire L -> ok token=2", nil, 1},
		{"Without a ttl a stop ends nothing.", "0..2 A acquire L -> ok token=1\n5 nemesis pause A\n7..8 B acquire L -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"The death of another does not.", "0..2 A acquire L -> ok token=1\n5 nemesis kill C\n7..8 B acquire L -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"A shared session excuses nothing.", "0..2 A acquire L ttl=1000 session=s -> ok token=1\n7..8 B acquire L ttl=9 session=s -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Re-entry breaks nothing.", two + "5..6 A acquire L ttl=1000 -> ok token=1", nil, 0},

		// The older grant is renewed.
		{"A lease that has passed on must not be renewed.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1502..1503 A renew L -> ok", []string{"A.1 then B.1, renewed"}, 2},
		{"A renewal that was asked for before, and is answered late, proves nothing.", two + "999..3000 A renew L ttl=1 -> ok\n1500..1501 B acquire L ttl=9000 -> ok token=2", nil, 1},
		{"Refused is right.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1502..1503 A renew L -> fail lost", nil, 1},
		{"After the newer promise the older one is no fault of this rule.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1600..2500 A renew L -> ok", nil, 2},
		{"A nanosecond before it is.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1600..2499.999999 A renew L -> ok", []string{"A.1 then B.1, renewed"}, 2},
		{"A renewal of the newer one counts once it was answered.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n2000..2001 B renew L -> ok\n2600..2601 A renew L -> ok", []string{"A.1 then B.1, renewed"}, 2},
		{"But not while it is open.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n2000..2700 B renew L -> ok\n2600..2601 A renew L -> ok", nil, 2},
		{"Once the newer one was released, the older one may come back.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1510..1520 B release L -> ok\n1530..1540 A renew L -> ok", nil, 2},
		{"A client that has let go of the lock may keep its session until that is ended, too.", two + "5..50 A release L -> ok\n6..7 B acquire L ttl=1000 -> ok token=2\n8..9 A renew L grant=A.1 -> ok", nil, 1},
		{"So may one whose release has no answer.", two + "5..6 A release L -> info\n7..8 B acquire L ttl=1000 -> ok token=2\n9..10 A renew L grant=A.1 -> ok", nil, 1},
		{"And one that releases only while it renews.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1502..1510 A renew L -> ok\n1509..1511 A release L -> ok", nil, 1},
		{"A refused release gives nothing up.", two + "1500..1600 A release L -> fail lost\n1500..1501 B acquire L ttl=1000 -> ok token=2\n1502..1503 A renew L -> ok", []string{"A.1 then B.1, renewed"}, 2},
		{"Nor does a release after the renewal.", two + "1500..1501 B acquire L ttl=1000 -> ok token=2\n1502..1503 A renew L -> ok\n1504..1505 A release L -> ok", []string{"A.1 then B.1, renewed"}, 2},

		// The order of grants.
		{"By token: the smaller one is older, though it was asked for later.", "0..50 A acquire L ttl=1000 -> ok token=2\n1..5 B acquire L ttl=10 -> ok token=1", nil, 1},
		{"And its promise counts.", "0..50 A acquire L ttl=10 -> ok token=2\n1..5 B acquire L ttl=1000 -> ok token=1", []string{"B.1 then A.1, early"}, 1},
		{"Without tokens overlapping grants have no order: one may have come after the other's end.", "tokens: none\n0..50 A acquire L ttl=1000 -> ok\n1..5 B acquire L ttl=10 -> ok", nil, 1},
		{"If neither can, it is a fault whichever came first.", "tokens: none\n0..50 A acquire L ttl=1000 -> ok\n1..5 B acquire L ttl=1000 -> ok", []string{"A.1 and B.1"}, 1},
		{"A renewal may rule the one order out.", "tokens: none\n0..50 A acquire L ttl=1000 -> ok\n1..5 B acquire L ttl=10 -> ok\n51..52 B renew L -> ok", []string{"A.1 and B.1"}, 1},
		{"But not one that was refused.", "tokens: none\n0..50 A acquire L ttl=1000 -> ok\n1..5 B acquire L ttl=10 -> ok\n51..52 B renew L -> fail lost", nil, 1},
		{"Nor one that was answered when the rival's promise was over.", "tokens: none\n0..50 A acquire L ttl=60 -> ok\n1..5 B acquire L ttl=10 -> ok\n51..60 B renew L -> ok", nil, 1},
		{"The second order may be ruled out like that as well.", "tokens: none\n0..10 A acquire L ttl=5 -> ok\n1..6 B acquire L ttl=100 -> ok\n11..12 A renew L -> ok", []string{"A.1 and B.1"}, 1},
		{"Without tokens real time orders grants that do not overlap.", "tokens: none\n0..5 A acquire L ttl=1000 -> ok\n6..7 B acquire L ttl=10 -> ok", []string{"A.1 then B.1, early"}, 1},
		{"Touching is overlapping.", "tokens: none\n0..5 A acquire L ttl=5 -> ok\n5..6 B acquire L ttl=10 -> ok", nil, 1},
		{"So it may have been the other way round.", "tokens: none\n0..5 A acquire L ttl=1000 -> ok\n5..6 B acquire L ttl=10 -> ok\n5 store revoke L of B", nil, 1},
		{"Also for what was renewed later.", "tokens: none\n0..5 A acquire L ttl=1 -> ok\n5..6 B acquire L ttl=1000 -> ok\n5 store revoke L of B\n6.5..6.8 B renew L -> ok\n7..8 A renew L -> ok", nil, 1},
		{"A promise that was answered when the renewal was asked for counts.", "tokens: none\n0..10 A acquire L ttl=5 -> ok\n1..6 B acquire L ttl=3 -> ok\n9..11 B renew L ttl=100 -> ok\n11..12 A renew L -> ok", []string{"A.1 and B.1"}, 1},
		{"Tokens that contradict real time order nothing.", "0..1 C acquire L ttl=1 -> ok token=9\n10..50 A acquire L ttl=4 -> ok token=2\n11..15 B acquire L ttl=1000 -> ok token=1", nil, 2},

		// Shared mode.
		{"Two shared grants stand side by side.", "needs: shared\n0..2 A acquire L mode=shared ttl=1000 -> ok token=1\n3..4 B acquire L mode=shared ttl=1000 -> ok token=2", nil, 0},
		{"A shared one and an exclusive one do not.", "needs: shared\n0..2 A acquire L mode=shared ttl=1000 -> ok token=1\n3..4 B acquire L ttl=1000 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Nor the other way round.", "needs: shared\n0..2 A acquire L ttl=1000 -> ok token=1\n3..4 B acquire L mode=shared ttl=1000 -> ok token=2", []string{"A.1 then B.1, early"}, 1},
		{"Overlapping shared grants accuse nobody.", "needs: shared\ntokens: none\n0..5 A acquire L mode=shared ttl=1000 -> ok\n3..6 B acquire L mode=shared ttl=1000 -> ok", nil, 0},

		// Every one is counted.
		{"Each grant that came too early, and each renewal.", two + "5..6 B acquire L ttl=1000 -> ok token=2\n7..8 C acquire L ttl=1000 -> ok token=3\n9..10 A renew L -> ok\n11..12 B renew L -> ok",
			[]string{"A.1 then B.1, early", "B.1 then C.1, early", "A.1 then C.1, renewed", "B.1 then C.1, renewed"}, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := book(t, test.hist)
			got := exact.Exclusion(context.Background(), exact.NewLedger(b))
			var names []string
			for i := range got.Breaches {
				names = append(names, breach(&got.Breaches[i]))
			}
			// Several promises may stand, and any of them will do.
			if strings.Join(names, "; ") != strings.Join(test.want, "; ") || got.Checked != test.checked {
				t.Errorf("%d checked, %q, want %d, %q", got.Checked, names, test.checked, test.want)
			}
			if exact.NewPlain(b).Exclusion().Invalid != (len(test.want) > 0) {
				t.Error("the rules word for word say otherwise")
			}
		})
	}
}

// The store may say other things of a lease than that it ended.
func TestOtherWordsOfTheStore(t *testing.T) {
	t.Parallel()
	b := book(t, "0..2 A acquire L -> ok token=1\n5 store expire L of A\n7..8 B acquire L -> ok token=2")
	if got := exact.Exclusion(context.Background(), exact.NewLedger(b)); len(got.Breaches) != 0 {
		t.Errorf("%d breaches after the end", len(got.Breaches))
	}
	b.History.Ops[1].F = "extend"
	if got := exact.Exclusion(context.Background(), exact.NewLedger(b)); len(got.Breaches) != 1 {
		t.Errorf("%d breaches without an end", len(got.Breaches))
	}
}

func TestMargin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hist string
		want int64 // ns; -1: absent
	}{
		{"From the end of the promise to the next answer.", "0..1 A acquire L ttl=10 -> ok token=1\n5..12.5 B acquire L ttl=10 -> ok token=2", 2_500_000},
		{"The smallest of all counts.", "0..1 A acquire L ttl=10 -> ok token=1\n5..12.5 B acquire L ttl=10 -> ok token=2\n16..16.75 C acquire L ttl=10 -> ok token=3", 1_750_000},
		{"What came too early is no takeover.", "0..1 A acquire L ttl=10 -> ok token=1\n5..12.5 B acquire L ttl=10 -> ok token=2\n14..14.75 C acquire L ttl=10 -> ok token=3", 2_500_000},
		{"A takeover at the very end has none left.", "0..1 A acquire L ttl=10 -> ok token=1\n5..10 B acquire L ttl=10 -> ok token=2", 0},
		{"The last renewal's promise is the one that ran out.", "0..1 A acquire L ttl=10 -> ok token=1\n4..5 A renew L -> ok\n6..15 B acquire L ttl=10 -> ok token=2", 1_000_000},
		{"A release is not timed.", "0..1 A acquire L ttl=10 -> ok token=1\n5..6 A release L -> ok\n7..8 B acquire L ttl=10 -> ok token=2", -1},
		{"Without a ttl nothing runs out.", "0..1 A acquire L -> ok token=1\n5..6 A release L -> ok\n7..8 B acquire L -> ok token=2", -1},
		{"A worker's own lease is no rival's.", "0..1 A acquire L ttl=10 -> ok token=1\n20..21 A acquire L ttl=10 -> ok token=2", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := exact.Exclusion(context.Background(), exact.NewLedger(book(t, test.hist))).Margin.Or(-1); got != test.want {
				t.Errorf("%d ns, want %d", got, test.want)
			}
		})
	}
}

// As many workers as grants, all of them at once: pair by pair is too much, and the
// context ends it.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	h := &histories.History{Header: histories.Header{Tokens: histories.TokensNone}}
	for i := range 3000 {
		h.Ops = append(h.Ops, histories.Operation{Process: fmt.Sprint(i), F: histories.Acquire, Type: histories.OK, Lock: "L",
			ID: int64(i), Invoke: int64(i), Return: 5000, TTL: int64(1 + i%2)})
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if got := exact.Exclusion(gone, exact.NewLedger(b)); !got.Undecided {
		t.Errorf("%d of %d, and all was decided", len(got.Breaches), got.Checked)
	}
	if got := exact.Exclusion(context.Background(), exact.NewLedger(b)); got.Undecided || got.Checked != 2999 {
		t.Errorf("%d of %d, undecided: %v", len(got.Breaches), got.Checked, got.Undecided)
	}
}
