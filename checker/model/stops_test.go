package model

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

func TestStops(t *testing.T) {
	t.Parallel()
	const never = histories.Never
	ms := func(n int64) int64 { return n * 1_000_000 }
	tests := []struct {
		name string
		hist string
		want []Stop
	}{
		{"From the confirmation to the request to go on.", "1..3 nemesis pause A\n7..9 nemesis resume A",
			[]Stop{{"A", 0, 1, ms(3), ms(7)}}},
		{"A pause that nobody confirmed is none.", "1..3 nemesis pause A -> info\n7 nemesis resume A", nil},
		{"A resume that may have happened ends what is certain.", "1 nemesis pause A\n7 nemesis resume A -> info\n9 nemesis resume A",
			[]Stop{{"A", 0, 1, ms(1), ms(7)}}},
		{"A resume that did not happen does not.", "1 nemesis pause A\n7 nemesis resume A -> fail\n9 nemesis resume A",
			[]Stop{{"A", 0, 2, ms(1), ms(9)}}},
		{"Who stands still already is not stopped again.", "1 nemesis pause A\n2 nemesis pause A\n3 nemesis pause A",
			[]Stop{{"A", 0, -1, ms(1), never}}},
		{"Another worker is.", "1 nemesis pause A\n2 nemesis pause B\n3 nemesis resume B",
			[]Stop{{"A", 0, -1, ms(1), never}, {"B", 1, 2, ms(2), ms(3)}}},
		{"A dead worker does not stand still, and its successor of that name can be stopped.", "1 nemesis pause A\n5 nemesis kill A\n8 nemesis pause A",
			[]Stop{{"A", 0, -1, ms(1), ms(5)}, {"A", 2, -1, ms(8), never}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, err := histories.ParseText(strings.NewReader(test.hist+"\n"), "test")
			if err != nil {
				t.Fatal(err)
			}
			b, err := Resolve(h)
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Stops()) != len(test.want) {
				t.Fatalf("%d stops, want %d", len(b.Stops()), len(test.want))
			}
			for k, s := range b.Stops() {
				if *s != test.want[k] {
					t.Errorf("%+v, want %+v", *s, test.want[k])
				}
			}
		})
	}
}

// Releases in any order leave the newest grant that was not released.
func TestNewestUnreleased(t *testing.T) {
	t.Parallel()
	h, err := histories.ParseText(strings.NewReader(`
0 A acquire L -> ok token=1
1 A acquire L -> ok token=2
2 A acquire L -> ok token=3
3 A release L grant=A.2 -> ok
4 A write R a -> ok
5 A release L grant=A.3 -> ok
6 A write R b -> ok
7 A release L grant=A.1 -> ok
8 A write R c -> ok
`), "test")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	for op, want := range map[int]string{4: "A.3", 6: "A.1", 8: "A.3"} {
		if got := b.Own(op).ID; got != want {
			t.Errorf("operation %d belongs to %s, want %s", op, got, want)
		}
	}
}
