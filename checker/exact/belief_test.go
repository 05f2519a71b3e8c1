package exact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
)

// untruth names an untrue answer: "A.1 held after release", "A.1 lost".
func untruth(b *model.Book, u *exact.Untruth) string {
	who := "none"
	if u.Grant != nil {
		who = u.Grant.ID
	}
	if !u.Held {
		return who + " lost"
	}
	return fmt.Sprintf("%s held after %s", who, b.History.Ops[u.By].F)
}

func TestBelief(t *testing.T) {
	t.Parallel()
	const one = "0..2 A acquire L ttl=1000 -> ok token=1\n"
	tests := []struct {
		name    string
		hist    string
		want    []string
		checked int
		unsure  int
	}{
		// Held.
		{"Held is true while the promise stands.", one + "999 A check L -> ok held=true", nil, 1, 0},
		{"After its end nobody knows.", one + "1000 A check L -> ok held=true", nil, 0, 1},
		{"Unless the store was seen to end the lease.", one + "1100 store expire L of A\n1200 A check L -> ok held=true", []string{"A.1 held after expire"}, 1, 0},
		{"At the same instant it may still have been true.", one + "1100 store expire L of A\n1100 A check L -> ok held=true", nil, 0, 1},
		{"So may a check that had been asked for before.", one + "900..1200 A check L -> ok held=true\n1100 store expire L of A", nil, 1, 0},
		{"Or another worker was granted a newer one.", one + "1100 B acquire L ttl=10 -> ok token=2\n1200 A check L -> ok held=true", []string{"A.1 held after acquire"}, 1, 0},
		{"An older one of another worker ends nothing.", "0..1 B acquire L ttl=1 -> ok token=1\n2..3 A acquire L ttl=10 -> ok token=2\n50 A check L -> ok held=true", nil, 0, 1},
		{"Nor one without an answer.", one + "1100 B acquire L ttl=10 -> info\n1200 A check L -> ok held=true", nil, 0, 1},
		{"Or the worker released it.", one + "5..6 A release L -> ok\n7 A check L -> ok held=true", []string{"A.1 held after release"}, 1, 0},
		{"A release in the same instant came before.", one + "5 A release L -> ok\n5 A check L -> ok held=true", []string{"A.1 held after release"}, 1, 0},
		{"If it came after, that proves nothing.", one + "5 A check L -> ok held=true\n5 A release L -> ok", nil, 0, 1},
		{"A refused release ends nothing.", one + "5..6 A release L -> fail lost\n7 A check L -> ok held=true", nil, 1, 0},
		{"One without an answer may or may not.", one + "5..6 A release L -> info\n7 A check L -> ok held=true", nil, 0, 1},
		{"One that leaves holds ends only the grant that it names.", one + "3..4 A acquire L ttl=1000 -> ok token=1\n5..6 A release L -> ok count=1\n7 A check L -> ok held=true", nil, 1, 0},
		{"One that leaves none ends all.", one + "3..4 A acquire L ttl=1000 -> ok token=1\n5..6 A release L -> ok count=0\n7 A check L grant=A.1 -> ok held=true", []string{"A.1 held after release"}, 1, 0},
		{"A line of an older grant is not about the newer one.", one + "900..1100 A acquire L ttl=10 -> ok token=2\n1105 store expire L of A\n2000 A check L -> ok held=true", nil, 0, 1},
		{"A renewal promises anew.", one + "1100 store expire L of A\n1150 A renew L -> ok\n1200 A check L -> ok held=true", nil, 1, 0},
		{"And the end before it says nothing about what came of it.", one + "1100 store expire L of A\n1150 A renew L -> ok\n5000 A check L -> ok held=true", nil, 0, 1},
		{"Nor does a newer grant from before.", one + "1100 B acquire L ttl=10 -> ok token=2\n1150 A renew L -> ok\n5000 A check L -> ok held=true", nil, 0, 1},
		{"One from after it does.", one + "1100 B acquire L ttl=10 -> ok token=2\n1150 A renew L -> ok\n3000 C acquire L ttl=10 -> ok token=3\n5000 A check L -> ok held=true", []string{"A.1 held after acquire"}, 1, 0},
		{"Who was refused each time never had it.", "1 A acquire L ttl=10 -> fail taken\n5 A check L -> ok held=true", []string{"none held after acquire"}, 1, 0},
		{"Who has no answer may.", "1 A acquire L ttl=10 -> info\n5 A acquire L ttl=10 -> fail taken\n6 A check L -> ok held=true", nil, 0, 1},
		{"Who had it may mean another grant than the one that it names.", "0 A acquire L ttl=10 -> fail taken\n1 A acquire L ttl=10 -> ok token=1\n20 A check L grant=X -> ok held=true\n21 A acquire L ttl=10 grant=X -> ok token=2", nil, 0, 1},
		{"Who never asked may have had it before the history began.", "5 A check L -> ok held=true", nil, 0, 1},
		{"A check that does not say, or has no answer, is no case.", one + "5 A check L -> info\n6 A check L -> fail lost", nil, 0, 0},
		{"Shared grants end no shared one.", "needs: shared\n0..2 A acquire L mode=shared ttl=10 -> ok token=1\n20 B acquire L mode=shared ttl=10 -> ok token=2\n30 A check L -> ok held=true", nil, 0, 1},

		// Not held, or lost.
		{"Lost is untrue while a promise stands and nothing ended it.", one + "500 A lost L", []string{"A.1 lost"}, 1, 0},
		{"So is not held.", one + "500 A check L -> ok held=false", []string{"A.1 lost"}, 1, 0},
		{"Also if a renewal was refused: it was told early.", one + "400 A renew L -> fail timeout\n500 A lost L", []string{"A.1 lost"}, 1, 0},
		{"After the end it is true, as far as anybody knows.", one + "1000 A lost L", nil, 1, 0},
		{"A check that took until after the end is not judged.", one + "999..1000 A check L -> ok held=false", nil, 0, 0},
		{"A renewal that is answered later promises nothing yet.", one + "900..1100 A renew L -> ok\n1050 A lost L", nil, 0, 0},
		{"One that was answered does.", one + "900..901 A renew L -> ok\n1050 A lost L", []string{"A.1 lost"}, 1, 0},
		{"One without an answer does not.", one + "900..901 A renew L -> info\n1050 A lost L", nil, 1, 0},
		{"After a release it is true.", one + "5..6 A release L -> ok\n7 A lost L", nil, 1, 0},
		{"Also after one without an answer.", one + "5..6 A release L -> info\n7 A lost L", nil, 1, 0},
		{"Not after one that was refused.", one + "5..6 A release L -> fail cancelled\n7 A check L -> ok held=false", []string{"A.1 lost"}, 1, 0},
		{"A revocation ended it.", one + "400 store revoke L of A\n500 A lost L", nil, 1, 0},
		{"So did an expiry, though the promise stood.", one + "400 store expire L of A\n500 A lost L", nil, 0, 0},
		{"Perhaps also one that is not certain.", one + "400.. store expire L of A -> info\n500 A lost L", nil, 0, 0},
		{"Not one before the last renewal.", one + "400 store expire L of A\n450 A renew L -> ok\n500 A lost L", []string{"A.1 lost"}, 1, 0},
		{"Not another worker's.", one + "400 store expire L of B\n500 A lost L", []string{"A.1 lost"}, 1, 0},
		{"The death of the worker may have.", one + "400 nemesis kill A\n500 A lost L", nil, 0, 0},
		{"So may a newer grant that was asked for by then.", one + "400..2000 B acquire L ttl=10 -> ok token=2\n500 A lost L", nil, 0, 0},
		{"Not one that was asked for later.", one + "500 A lost L\n501..2000 B acquire L ttl=10 -> ok token=2", []string{"A.1 lost"}, 1, 0},
		{"Nor one that was refused.", one + "400..450 B acquire L ttl=10 -> fail taken\n500 A lost L", []string{"A.1 lost"}, 1, 0},
		{"Without a ttl an expiry is an end.", "0..2 A acquire L -> ok token=1\n400 store expire L of A\n500 A lost L", nil, 1, 0},
		{"And nothing else is.", "0..2 A acquire L -> ok token=1\n500000 A lost L", []string{"A.1 lost"}, 1, 0},
		{"Who has no grant loses nothing.", "1 A acquire L ttl=10 -> fail taken\n5 A lost L", nil, 1, 0},
		{"What a waiting client is told is not about a lease.", "1..2000 A acquire L ttl=1000 -> ok token=1\n5 A lost L", nil, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := book(t, test.hist)
			got := exact.Belief(context.Background(), exact.NewLedger(b))
			var names []string
			for i := range got.Untrue {
				names = append(names, untruth(b, &got.Untrue[i]))
			}
			if strings.Join(names, "; ") != strings.Join(test.want, "; ") || got.Checked != test.checked || got.Unsure != test.unsure {
				t.Errorf("%d checked, %d unsure, %q, want %d, %d, %q", got.Checked, got.Unsure, names, test.checked, test.unsure, test.want)
			}
			want := exact.PlainAnswer{Invalid: len(test.want) > 0, Uncertain: test.unsure > 0}
			if answer := exact.NewPlain(b).Belief(); answer != want {
				t.Errorf("the rules word for word say %+v", answer)
			}
		})
	}
}

func TestBeliefMargin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hist string
		want int64 // ns; -1: absent
	}{
		{"From held to the end of the promise.", "0..2 A acquire L ttl=10 -> ok token=1\n7.5..20 A check L -> ok held=true", 2_500_000},
		{"From the end of the promise to lost.", "0..2 A acquire L ttl=10 -> ok token=1\n11.25 A lost L", 1_250_000},
		{"The smallest of all counts.", "0..2 A acquire L ttl=10 -> ok token=1\n5 A check L -> ok held=true\n9 A check L -> ok held=true\n12 A check L -> ok held=false", 1_000_000},
		{"Without a ttl there is none.", "0..2 A acquire L -> ok token=1\n5 A check L -> ok held=true", -1},
		{"A release is not timed.", "0..2 A acquire L ttl=10 -> ok token=1\n3 A release L -> ok\n4 A check L -> ok held=false", -1},
		{"What is untrue is not legal by anything.", "0..2 A acquire L ttl=10 -> ok token=1\n3 A lost L", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := exact.Belief(context.Background(), exact.NewLedger(book(t, test.hist))).Margin.Or(-1); got != test.want {
				t.Errorf("%d ns, want %d", got, test.want)
			}
		})
	}
}

// How early a client gave up can be told from the end of the promise.
func TestUntruthKnowsThePromise(t *testing.T) {
	t.Parallel()
	b := book(t, "0..2 A acquire L ttl=10 -> ok token=1\n5..6 A renew L ttl=20 -> ok\n7 A lost L")
	got := exact.Belief(context.Background(), exact.NewLedger(b)).Untrue
	if len(got) != 1 || got[0].Promise != 1 || got[0].End != 25_000_000 {
		t.Errorf("%+v", got)
	}
}
