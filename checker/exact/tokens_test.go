package exact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
)

func TestTokenOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		hist    string
		want    string
		checked int
	}{
		{"One token has no order.", "0 A acquire L -> ok token=5", "", 0},
		{"Larger for every later grant.", "0 A acquire L -> ok token=5\n1 B acquire L -> ok token=6", "", 2},
		{"Gaps do not matter, and 0 is a token.", "0 A acquire L -> ok token=0\n1 B acquire L -> ok token=600", "", 2},
		{"Smaller is wrong.", "0 A acquire L -> ok token=5\n1 B acquire L -> ok token=4", "A.1 B.1", 2},
		{"0 after 1 is smaller.", "0 A acquire L -> ok token=1\n1 B acquire L -> ok token=0", "A.1 B.1", 2},
		{"Negative tokens have an order, too.", "0 A acquire L -> ok token=-2\n1 B acquire L -> ok token=-1", "", 2},
		{"Overlapping grants may come in either order.", "0..5 A acquire L -> ok token=5\n1..2 B acquire L -> ok token=4", "", 2},
		{"Touching is overlapping.", "0..1 A acquire L -> ok token=5\n1..2 B acquire L -> ok token=4", "", 2},
		{"A worker's own grants never overlap.", "0..1 A acquire L -> ok token=5\n1..2 A acquire L -> ok token=4", "A.1 A.2", 2},
		{"One token for two workers is wrong, overlapping or not.", "0..5 A acquire L -> ok token=5\n1..2 B acquire L -> ok token=5", "A.1 B.1 shared", 2},
		{"One worker may get a token twice: re-entry.", "0 A acquire L -> ok token=5\n1 A acquire L -> ok token=5", "", 2},
		{"Or after a release that did not happen.", "0 A acquire L -> ok token=5\n1 A release L -> info\n2 A acquire L -> ok token=5", "", 2},
		{"But not with another's grant between.", "0 A acquire L -> ok token=5\n1 B acquire L -> ok token=6\n2 A acquire L -> ok token=5", "B.1 A.2", 3},
		{"Whatever the token between.", "0 A acquire L -> ok token=5\n1 B acquire L -> ok token=4\n2 A acquire L -> ok token=5", "A.1 B.1", 3},
		{"Other locks count for themselves.", "0 A acquire L -> ok token=5\n1 B acquire M -> ok token=5\n2 A acquire M -> ok token=6\n3 B acquire L -> ok token=6", "", 4},
		{"A refused acquire has no token.", "0 A acquire L -> ok token=5\n1 B acquire L -> fail held", "", 0},
		{"Every grant at fault is counted.", "0 A acquire L -> ok token=9\n1 B acquire L -> ok token=1\n2 C acquire L -> ok token=2\n3 D acquire L -> ok token=10", "A.1 B.1; A.1 C.1", 4},
		{"Also of those that share one.", "0 A acquire L -> ok token=1\n1 B acquire L -> ok token=1\n2 A acquire L -> ok token=1", "A.1 B.1 shared; B.1 A.2 shared", 3},
		{"Shared grants may share a token.", "needs: shared\n0 A acquire L mode=shared -> ok token=5\n1 B acquire L mode=shared -> ok token=5", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := book(t, test.hist)
			got := exact.TokenOrder(b)
			var names []string
			for _, f := range got.Faults {
				shared := ""
				if f.Shared {
					shared = " shared"
				}
				names = append(names, fmt.Sprintf("%s %s%s", f.Earlier.ID, f.Later.ID, shared))
			}
			if strings.Join(names, "; ") != test.want || got.Checked != test.checked {
				t.Errorf("%d checked, %q, want %d, %q", got.Checked, names, test.checked, test.want)
			}
			if exact.NewPlain(b).TokenOrder().Invalid != (test.want != "") {
				t.Error("the rules word for word say otherwise")
			}
		})
	}
}
