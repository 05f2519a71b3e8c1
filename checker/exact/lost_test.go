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

// resourceOf parses lines of a history without tokens, with one lock and one resource
// whose initial value is v0.
func resourceOf(t *testing.T, lines string) (*histories.History, *model.Resource) {
	t.Helper()
	const header = "tokens: none\nguards: L -> R\ninitial: R = v0\n\n"
	h, err := histories.ParseText(strings.NewReader(header+lines), "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := histories.Validate(h); err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	return h, b.Resources()[0]
}

// Each kind of lost update stands beside one that looks like it and is none.
var lostCases = []struct {
	name  string
	lines string
	want  model.Answer
	why   string
	core  int
}{
	{"two on one base", `
0 A acquire L -> ok
0 B acquire L -> ok
1 A read R -> ok value=v0
1 B read R -> ok value=v0
2 A write R a -> ok
3 B write R b -> ok`, model.Illegal, "", 3},
	{"two on one base, one not acknowledged", `
0 A acquire L -> ok
0 B acquire L -> ok
1 A read R -> ok value=v0
1 B read R -> ok value=v0
2 A write R a -> info
3 B read R -> ok value=a
4 B write R b under=B.1 -> ok`, model.Legal, "", 0},
	{"over an unanswered write that was read", `
0 A acquire L -> ok
0 B acquire L -> ok
1 B read R -> ok value=v0
2..20 A write R a -> info
3 C read R -> ok value=a
4 B write R b -> ok`, model.Legal, "", 0},
	{"over the own write", `
0 A acquire L -> ok
1 A read R -> ok value=v0
2 A write R a -> ok
3 A write R b -> ok`, model.Legal, "", 0},
	{"over the own write and another's", `
0 A acquire L -> ok
1 A read R -> ok value=v0
2 A write R a -> ok
3 B write R b -> ok
4 A write R c -> ok`, model.Illegal, "", 3},
	{"knowingly, without a base", `
0 A acquire L -> ok
0 B acquire L -> ok
1 B read R -> ok value=v0
2 A write R a -> ok
3 B acquire L -> ok
4 B write R b -> ok`, model.Legal, "", 0},
	{"decided under the grant before", `
0 B acquire L -> ok
1 B read R -> ok value=v0
2 A write R a -> ok
3 B acquire L -> ok
4 B write R b under=B.1 -> ok`, model.Illegal, "", 3},
	{"an acknowledged write is missing", `
1 A write R a -> ok
2 B read R -> ok value=v0`, model.Illegal, "", 2},
	{"between the two in real time only for one order", `
0 A acquire L -> ok
1 A read R -> ok value=v0
2..9 A write R a -> ok
3..9 B write R b -> ok`, model.Legal, "", 0},
	{"two rims that are one gap", `
0 Z acquire L -> ok
1 Q write R c -> ok
2..3 Z read R -> ok value=c
4..20 H write R h -> info
5..6 P read R -> ok value=h
7..20 Z write R t -> info
8..9 X read R -> ok value=t
10 P write R w -> ok`, model.Legal, "", 0},
	{"it lands after the worker's later writes", `
0 A acquire L -> ok
0..2 A read R -> ok value=v0
2 B acquire L -> ok
3..11 A write R a -> info
11..14 A write R y -> ok
13..19 B read R -> ok value=a
20..21 B write R b -> ok`, model.Legal, "", 0},
	{"it lands after them and another's", `
0 A acquire L -> ok
0..2 A read R -> ok value=v0
2 B acquire L -> ok
3..11 A write R a -> info
11..14 A write R y -> ok
12..14 C write R c -> ok
13..19 B read R -> ok value=a
20..21 B write R b -> ok`, model.Illegal, "", 5},
	{"based on a read of no value", `
0 A acquire L -> ok
1 A read R -> ok
2 B write R b -> ok
3 A write R a -> ok`, model.Illegal, "", 3},
	{"based on a read of no value, inside a cluster", `
0 A acquire L -> ok
1 C write R c -> ok
2 B read R -> ok value=c
3 A read R -> ok
4 B read R -> ok value=c
5 A write R a -> ok`, model.Legal, "", 0},
	{"the same, and another's write", `
0 A acquire L -> ok
1 C write R c -> ok
2 B read R -> ok value=c
3 A read R -> ok
3..9 C write R d -> ok
4 B read R -> ok value=c
5..9 A write R a -> ok
6..9 E read R -> ok value=d
10 E read R -> ok value=a`, model.Illegal, "", 6},
	{"based on a read of no value, perhaps of the one and perhaps of the other", `
0 A acquire L -> ok
0 B acquire L -> ok
0 C acquire L -> ok
1 D acquire L -> ok
1 B read R -> ok
1..2 D write R d -> ok
2 A read R -> ok value=d
2 C read R -> ok value=d
4..5 A write R a -> info
4..5 B write R b -> ok`, model.Undecided, "a write is based on a read of no value", 0},
	{"a value written twice", `
1 A write R a -> ok
2..9 B write R a -> ok
3..9 C write R c -> ok
4..5 A read R -> ok value=a
6..7 A read R -> ok value=c
8 A read R -> ok value=a`, model.Undecided, "a value that was read was written twice", 0},
	{"a base that comes after its write by number", `
0 A acquire L -> ok
1 A read R -> ok seq=1
1 A write R a -> ok seq=1`, model.Illegal, "", 2},
	{"one number for two writes, and a lost update elsewhere", `
0 A acquire L -> ok
0 B acquire L -> ok
0 D write R d -> ok seq=1
0 D write R e -> ok seq=1
1 C write R c -> ok
1..2 A read R -> ok value=c
1..2 B read R -> ok value=c
3 A write R a -> ok
4 B write R b -> ok`, model.Illegal, "", 4},
	{"a run of one worker, and a write that fits nowhere", `
0 A acquire L -> ok
1 A read R -> ok value=v0
2 A write R a -> ok
3..12 B write R b -> ok
4 A read R -> ok value=a
5 A write R c -> ok
6 A read R -> ok value=c
13 A write R d -> ok`, model.Illegal, "", 6},
	{"a run of one worker, and a write that fits at its end", `
0 A acquire L -> ok
1 A read R -> ok value=v0
2 A write R a -> ok
3..12 B write R b -> ok
4 A read R -> ok value=a
5 A write R c -> ok
6 A read R -> ok value=c
12 A write R d -> ok`, model.Legal, "", 0},
}

func TestLost(t *testing.T) {
	t.Parallel()
	for _, test := range lostCases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h, r := resourceOf(t, test.lines)
			d := exact.NewSolver(r).Decide(context.Background(), lostQuestion)
			if d.Answer != test.want || d.Why != test.why || len(d.Core) != test.core {
				t.Errorf("%v %q, core %v; want %v %q, core of %d", d.Answer, d.Why, d.Core, test.want, test.why, test.core)
			}
			proveLost(t, r, d)
			if d.Answer != model.Undecided {
				compareWays(t, r, d.Answer, map[string]int{})
			}
			if want := r.Decide(context.Background(), lostQuestion, model.Limits{}); len(h.Ops) < 80 && test.want != model.Undecided && want != test.want {
				t.Errorf("Porcupine: %v", want)
			}
		})
	}
}

// A write that is only known to land after many of its worker's later writes is placed
// among up to 64 of them, and not among more.
func TestLostPlaces(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]model.Answer{0: model.Legal, 1: model.Legal, 64: model.Legal, 65: model.Undecided, 200: model.Undecided} {
		var writes strings.Builder
		for k := range n {
			fmt.Fprintf(&writes, "11 A write R y%d -> ok\n", k)
		}
		_, r := resourceOf(t, `
0 A acquire L -> ok
0..2 A read R -> ok value=v0
2 B acquire L -> ok
3..11 A write R a -> info
`+writes.String()+`
11..19 B read R -> ok value=a
20..21 B write R b -> ok`)
		d := exact.LostInLayers(context.Background(), r)
		if d.Answer != want || (want == model.Undecided) != (d.Why == "unanswered writes have too many places") {
			t.Errorf("after %d writes: %v %s", n, d.Answer, d.Why)
		}
		proveLost(t, r, d)
	}
}

// The answer is missing, not wrong, if the context has ended.
func TestLostInTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, r := resourceOf(t, lostCases[0].lines)
	if d := exact.NewSolver(r).Decide(ctx, lostQuestion); d.Answer != model.Undecided || d.Why == "" {
		t.Errorf("%v %q", d.Answer, d.Why)
	}
}
