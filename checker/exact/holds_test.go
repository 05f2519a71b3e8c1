package exact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
)

// outside names what is wrong with an operation: "10 released".
func outside(b *exact.Ledger, x *exact.Outside) string {
	fault := map[exact.HoldFault]string{
		exact.NoGrant: "no grant", exact.Released: "released", exact.BorrowedToken: "borrowed", exact.ForeignDecision: "foreign",
	}[x.Fault]
	return fmt.Sprintf("%d %s", b.Book().History.Ops[x.Op].Invoke/1_000_000, fault)
}

func TestHold(t *testing.T) {
	t.Parallel()
	const one = "0..2 A acquire L ttl=1000 -> ok token=1\n"
	tests := []struct {
		name    string
		hist    string
		want    string
		doubt   string
		checked int
	}{
		{"Inside a hold all is well.", one + "3 A open R token=1 -> ok\n4 A read R token=1 -> ok value=v\n5 A write R v token=1 -> ok\n6 A release L -> ok", "", "", 3},
		{"Nobody may act who never asked.", one + "5 B write R v -> ok", "5 no grant", "", 1},
		{"Nor who was refused.", one + "3..4 B acquire L ttl=9 -> fail held\n5 B write R v -> ok", "5 no grant", "", 1},
		{"Nor who does not know.", "0..2 A acquire L ttl=1000 -> info timeout\n5 A write R v -> ok", "5 no grant", "", 1},
		{"Nor by the name of a grant that was not answered.", "0..2 A acquire L ttl=1000 grant=A.1 -> info timeout\n5 A write R v grant=A.1 -> ok", "5 no grant", "", 1},
		{"A read that names nothing is anybody's.", one + "5 B read R -> ok value=x", "", "", 0},
		{"One that sends a token is not.", one + "5 B read R token=1 -> ok value=x", "5 no grant", "", 1},
		{"Nor one that names a grant, after the release.", one + "5 A release L -> ok\n6 A read R grant=A.1 -> ok value=x", "6 released", "", 1},
		{"What was refused did not happen.", one + "5 B write R v -> fail fenced", "", "", 0},
		{"What has no answer may have.", one + "5 B write R v -> info timeout", "", "5 no grant", 0},

		// The end of a hold.
		{"After its own release it is over.", one + "4..5 A release L -> ok\n6 A write R v token=1 -> ok", "6 released", "", 1},
		{"What was sent before the release may land later.", one + "4 A write R v token=1 -> ok\n4..5 A release L -> ok", "", "", 1},
		{"A release that was refused ends nothing.", one + "4..5 A release L -> fail lost\n6 A write R v token=1 -> ok", "", "", 1},
		{"One without an answer may have.", one + "4..5 A release L -> info timeout\n6 A write R v token=1 -> ok", "", "6 released", 1},
		{"An answered one settles it.", one + "4..5 A release L -> info timeout\n6..7 A release L -> ok\n8 A write R v token=1 -> ok", "8 released", "", 1},
		{"Expiry ends no hold.", one + "5 store expire L of A\n6 A write R v token=1 -> ok", "", "", 1},
		{"Nor does the end of the promise.", one + "6000 A write R v token=1 -> ok", "", "", 1},
		{"Nor does the news that it is lost.", one + "5 A lost L\n6 A write R v token=1 -> ok", "", "", 1},
		{"Nor does the next holder.", one + "5..6 B acquire L ttl=9 -> ok token=2\n7 A write R v token=1 -> ok", "", "", 1},
		{"A new hold is a new start.", one + "4..5 A release L -> ok\n6..7 A acquire L ttl=9 -> ok token=2\n8 A write R v token=2 -> ok", "", "", 1},
		{"But not for what belongs to the old one.", one + "4..5 A release L -> ok\n6..7 A acquire L ttl=9 -> ok token=2\n8 A write R v token=1 grant=A.1 -> ok", "8 released", "", 1},
		{"A release without count= ends all nested holds.", one + "2..3 A acquire L ttl=9 -> ok token=2\n4..5 A release L -> ok\n6 A write R v token=1 grant=A.1 -> ok", "6 released", "", 1},
		{"With holds left only the one that it names.", one + "2..3 A acquire L ttl=9 -> ok token=2\n4..5 A release L -> ok count=1\n6 A write R v token=1 grant=A.1 -> ok", "", "", 1},
		{"That one is over.", one + "2..3 A acquire L ttl=9 -> ok token=2\n4..5 A release L -> ok count=1\n6 A write R v token=2 grant=A.2 -> ok", "6 released", "", 1},
		{"A grant that another worker's lies between is not nested.", one + "2..3 B acquire L ttl=9 -> ok token=2\n4..5 A acquire L ttl=9 -> ok token=3\n6..7 A release L grant=A.1 -> ok\n8 A write R v token=3 -> ok", "", "", 1},

		// One token, one grant.
		{"The same token again is the same hold.", one + "3..4 A release L -> info timeout\n5..6 A acquire L ttl=9 -> ok token=1\n7 A write R v token=1 grant=A.1 -> ok", "", "", 1},
		{"Both ended, it is over.", one + "3..4 A release L -> ok\n5..6 A acquire L ttl=9 -> ok token=1\n7..8 A release L -> ok\n9 A write R v token=1 grant=A.1 -> ok", "9 released", "", 1},
		{"One ended, one perhaps.", one + "3..4 A release L -> ok\n5..6 A acquire L ttl=9 -> ok token=1\n7..8 A release L -> info\n9 A write R v token=1 grant=A.1 -> ok", "", "9 released", 1},
		{"The later one is not there before it was asked for.", one + "3..4 A release L -> ok\n5 A write R v token=1 -> ok\n6..7 A acquire L ttl=9 -> ok token=1", "5 released", "", 1},

		// Tokens and decisions.
		{"Another's token is borrowed.", one + "3..4 B acquire L ttl=9 -> ok token=2\n5 A write R v token=2 -> ok", "5 borrowed", "", 1},
		{"So is one of an own grant that it does not act under.", one + "3..4 A acquire L ttl=9 -> ok token=2\n5 A write R v token=1 -> ok", "5 borrowed", "", 1},
		{"No token is none borrowed.", one + "5 A write R v -> ok", "", "", 1},
		{"0 is a token.", "0..2 A acquire L ttl=9 -> ok token=0\n5 A write R v token=1 -> ok\n6 A write R v token=0 -> ok", "5 borrowed", "", 2},
		{"A decision of an earlier hold is not its own.", one + "3..4 A release L -> ok\n5..6 A acquire L ttl=9 -> ok token=2\n7 A write R v token=2 under=A.1 -> ok", "7 foreign", "", 1},
		{"Under the same token it is.", one + "3..4 A release L -> info\n5..6 A acquire L ttl=9 -> ok token=1\n7 A write R v token=1 under=A.1 -> ok", "", "", 1},
		{"Of a nested hold with another token it is not.", one + "3..4 A acquire L ttl=9 -> ok token=2\n7 A write R v token=2 under=A.1 -> ok", "7 foreign", "", 1},
		{"Nor is one under a grant without an answer.", "0..1 A acquire L ttl=9 grant=A.x -> info\n2..3 A acquire L ttl=9 -> ok token=2\n7 A write R v token=2 under=A.x -> ok", "7 foreign", "", 1},

		{"Every one is counted.", one + "3 B write R v -> ok\n4..5 A release L -> ok\n6 A open R -> ok\n7 B write R v -> ok", "3 no grant; 6 released; 7 no grant", "", 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := exact.NewLedger(book(t, test.hist))
			got, doubt := exact.Hold(l), ""
			var names []string
			for i := range got.Outside {
				names = append(names, outside(l, &got.Outside[i]))
			}
			if got.Doubt != nil {
				doubt = outside(l, got.Doubt)
			}
			if strings.Join(names, "; ") != test.want || doubt != test.doubt || got.Checked != test.checked {
				t.Errorf("%d checked, %q, doubt %q, want %d, %q, %q", got.Checked, names, doubt, test.checked, test.want, test.doubt)
			}
			word := exact.NewPlain(l.Book()).Hold()
			if word.Invalid != (test.want != "") || test.want == "" && word.Uncertain != (test.doubt != "") {
				t.Errorf("the rule word for word says %+v", word)
			}
		})
	}
}

// Many grants with one token: each operation is judged without looking at
// all of them.
func TestManyGrantsOfOneToken(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("fence: writes\n")
	const n = 30_000
	for i := range n {
		fmt.Fprintf(&text, "%d A acquire L ttl=1 -> ok token=7\n%d A write R v token=7 -> ok\n%d A release L -> ok\n", 4*i, 4*i+1, 4*i+2)
	}
	got := exact.Hold(exact.NewLedger(book(t, text.String())))
	if got.Checked != n || len(got.Outside) != 0 || got.Doubt != nil {
		t.Errorf("%d checked, %d outside", got.Checked, len(got.Outside))
	}
}
