package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// rounds is how many random histories a test takes; ROUNDS sets another number.
func rounds(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		return n
	}
	return usual
}

func resource(t *testing.T, text string) *model.Resource {
	t.Helper()
	h, err := histories.ParseText(strings.NewReader(text), "test.hist")
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	return b.Resources()[0]
}

// Two overlapping writes, read in both orders; illegal, and no two operations say so.
const twisted = `guards: L -> R
initial: R = v0
0..9 A write R x -> ok
0..9 B write R y -> ok
10 C read R -> ok value=x
11 C read R -> ok value=y
12 C read R -> ok value=x
`

// The same without the last read.
const straight = `guards: L -> R
initial: R = v0
0..9 A write R x -> ok
0..9 B write R y -> ok
10 C read R -> ok value=x
11 D read R -> ok value=x
`

// claim is an engine that says what it is told to say.
type claim struct{ d model.Decision }

func (e claim) name() string { return "somebody" }

func (e claim) decide(context.Context, model.Question) model.Decision { return e.d }

// hunch is a claim that may be wrong.
type hunch struct{ claim }

func (hunch) guesses() {}

// No engine is believed. A proof that does not hold is a fault of the checker, unless
// the engine said that it was guessing.
func TestNoVerdictOnTrust(t *testing.T) {
	t.Parallel()
	legal := func(order ...int32) model.Decision { return model.Decision{Answer: model.Legal, Order: order} }
	illegal := func(core ...int32) model.Decision { return model.Decision{Answer: model.Illegal, Core: core} }
	tests := []struct {
		name    string
		hist    string
		engines []engine
		want    model.Answer
		fault   error
	}{
		{"A legal order counts.", straight, []engine{claim{legal(1, 0, 2, 3)}}, model.Legal, nil},
		{"An order against the values does not.", straight, []engine{claim{legal(0, 1, 2, 3)}}, 0, ErrCertificate},
		{"An order that leaves one out does not.", straight, []engine{claim{legal(1, 0, 2)}}, 0, ErrCertificate},
		{"No order at all does not.", straight, []engine{claim{legal()}}, 0, ErrCertificate},
		{"A core that is illegal counts.", twisted, []engine{claim{illegal(0, 1, 2, 3, 4)}}, model.Illegal, nil},
		{"A core that is legal does not.", twisted, []engine{claim{illegal(0, 1, 2)}}, 0, ErrCertificate},
		{"A core without the write of what is read does not.", twisted, []engine{claim{illegal(0, 2, 3)}}, 0, ErrCertificate},
		{"A guess that is wrong says nothing.", straight, []engine{hunch{claim{legal(0, 1, 2, 3)}}, claim{legal(1, 0, 2, 3)}}, model.Legal, nil},
		{"A guess that is right is as good as any.", straight, []engine{hunch{claim{legal(1, 0, 2, 3)}}, claim{illegal(0)}}, model.Legal, nil},
		{"Who can't tell leaves it to the next.", twisted, []engine{claim{}, claim{illegal(0, 1, 2, 3, 4)}}, model.Illegal, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := testCertifier(resource(t, test.hist), test.engines...)
			got, err := c.answer(context.Background(), model.Question{Values: true})
			if !errors.Is(err, test.fault) || test.fault != nil && !errors.Is(err, ErrFault) {
				t.Fatalf("%v, want %v", err, test.fault)
			}
			if err == nil && got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func testCourt() *court { return &court{scans: context.Background(), turns: newTurns()} }

func testCertifier(r *model.Resource, engines ...engine) *certifier {
	return &certifier{r: r, court: testCourt(), engines: engines, decided: map[model.Question]model.Decision{}}
}

// What nobody decides is told with everything that stood in the way.
func TestUndecidedSaysWhy(t *testing.T) {
	t.Parallel()
	why := func(text string) engine { return claim{model.Decision{Why: text}} }
	c := testCertifier(resource(t, twisted), why(""), why("a value written twice"), why("60 operations open at once"), why("a value written twice"))
	q := model.Question{Values: true}
	if got, err := c.answer(context.Background(), q); got != model.Undecided || err != nil {
		t.Fatal(got, err)
	}
	if got, want := c.decided[q].Why, "a value written twice; 60 operations open at once"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Porcupine's own answer for the whole is held against every other.
func TestAudit(t *testing.T) {
	t.Parallel()
	c := testCertifier(resource(t, twisted))
	c.audited = true
	q := model.Question{Values: true}
	for answer, want := range map[model.Answer]error{model.Illegal: nil, model.Legal: ErrDisagree} {
		if err := c.audit(context.Background(), q, claim{}, model.Decision{Answer: answer}); !errors.Is(err, want) {
			t.Errorf("%v: %v", answer, err)
		}
	}
}

// Each engine alone comes to the same answers as Porcupine, or to none.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	undecided := map[string]int{}
	for seed := range rounds(400) {
		h := simulate.Campaign(simulate.Plan{
			Operations: 20 + seed%60, Locks: 1, Workers: 2 + seed%3, Unknown: 0.1, Pause: 0.2, Numbered: seed%2 == 0,
			Crowd: seed%3 == 0, Fence: histories.FenceAll, Plant: simulate.Plant(seed % 3), Seed: uint64(seed),
		})
		b, err := model.Resolve(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range b.Resources() {
			enginesAgree(t, r, undecided)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Log("undecided", undecided)
}

func enginesAgree(t *testing.T, r *model.Resource, undecided map[string]int) {
	t.Helper()
	ctx := context.Background()
	c := newCertifier(ctx, testCourt(), newScan(ctx, r), false)
	for _, q := range []model.Question{{Values: true, Grants: true}, {Values: true, Bases: true}, {Values: true}, {Grants: true}, {}} {
		want := r.Decide(ctx, q, model.Limits{})
		for _, e := range c.engines {
			d := e.decide(ctx, q)
			err := r.Confirm(ctx, q, d)
			if _, guess := e.(guesser); guess && err != nil {
				continue
			}
			switch {
			case err != nil:
				t.Errorf("%s: %v", e.name(), err)
			case d.Answer == model.Undecided || want == model.Undecided:
				undecided[e.name()]++
			case d.Answer != want:
				t.Errorf("%s, %+v: %v, Porcupine: %v", e.name(), q, d.Answer, want)
			}
		}
	}
}

// Without time left only the scans are asked; what they prove stands.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for text, want := range map[string]model.Answer{
		straight: model.Undecided,
		twisted:  model.Undecided,
		straight + "12 D read R -> ok value=nobody's\n": model.Illegal,
	} {
		r := resource(t, text)
		c := newCertifier(over, testCourt(), newScan(context.Background(), r), true)
		if got, err := c.answer(over, model.Question{Values: true}); got != want || err != nil {
			t.Errorf("%v, %v, want %v:\n%s", got, err, want, text)
		}
	}
}

// A value that was written twice and read is beyond the exact solver, and not beyond
// a search.
func TestRepeatedValues(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("guards: L -> R\ninitial: R = v0\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "%d..%d A write R v%d -> ok\n%d..%d B read R -> ok value=v%d\n", 3*i, 3*i+2, i%3, 3*i, 3*i+2, i%3)
	}
	for ending, want := range map[string]Verdict{"": Valid, "9001 C read R -> ok value=v2\n9002 C read R -> ok value=v1\n": Invalid} {
		h, err := histories.ParseText(strings.NewReader(text.String()+ending), "test.hist")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(context.Background(), h, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := r.Property(LostUpdate)
		if p.Verdict != want {
			t.Errorf("with %q: %s (%s)", ending, p.Verdict, p.Why)
		}
		for _, w := range p.Witnesses {
			if len(w.Core) > 8 {
				t.Errorf("a core of %d operations", len(w.Core))
			}
		}
	}
}

// A job that panics is a fault of the checker and no end of the program.
func TestPanicIsAFault(t *testing.T) {
	t.Parallel()
	p := &pool{}
	done := false
	p.add(func() error { panic("out of cheese") })
	p.add(func() error { done = true; return nil })
	if err := p.run(); !errors.Is(err, ErrFault) || !strings.Contains(err.Error(), "out of cheese") || !done {
		t.Errorf("%v, the other job done: %v", err, done)
	}
}

// Not parallel: it changes the number of processors. The histories are such that all
// engines have to do.
func TestSameBytesWhateverTheCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	many := simulate.Many(6000)
	many.Locks, many.Plant = 20, simulate.LostUpdate
	one := simulate.One(4000, 20)
	one.Plant = simulate.StaleWrite
	list := []*histories.History{simulate.Campaign(many), simulate.Campaign(one)}
	for seed := range uint64(40) {
		list = append(list, simulate.Dishonest(seed, simulate.Any(rand.New(rand.NewPCG(seed, 2))), simulate.Lies()[seed%4]).History)
	}
	for n, h := range list {
		var first []byte
		for _, cores := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(cores)
			r, err := Check(context.Background(), h, Options{})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = text
			}
			if !slices.Equal(first, text) {
				t.Fatalf("history %d on %d cores:\n%s\n%s", n, cores, text, first)
			}
		}
	}
}

// What a scan finds is a certificate also where the only write of a value that was read
// comes later and is based on another read.
func TestScanKeepsBases(t *testing.T) {
	t.Parallel()
	r := resource(t, `guards: L -> R
0 A acquire L -> ok token=1
1 A read R -> ok value=v
2 B write R y -> ok
3 A write R w -> ok
4 A read R -> ok
5 A write R v -> ok
`)
	ctx, q := context.Background(), model.Question{Values: true, Bases: true}
	d := newScan(ctx, r).decide(ctx, q)
	if err := r.Confirm(ctx, q, d); d.Answer != model.Illegal || err != nil {
		t.Errorf("%+v: %v", d, err)
	}
}

// Two read-modify-writes at once, on one base: one of them is lost, and the history
// does not say which. What is told is what all orders have in common.
func TestLostEitherWay(t *testing.T) {
	t.Parallel()
	h, err := histories.ParseText(strings.NewReader(`tokens: none
guards: L -> R
initial: R = v0
0..1 A acquire L -> ok
0..1 B acquire L -> ok
2 A read R -> ok value=v0
2 B read R -> ok value=v0
3..9 A write R a -> ok
3..9 B write R b -> ok
`), "test.hist")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(context.Background(), h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Property(LostUpdate)
	if p.Verdict != Invalid || p.Violations != 1 || len(p.Witnesses) != 1 {
		t.Fatalf("%+v", p)
	}
	w := p.Witnesses[0]
	if last := w.Story[len(w.Story)-1]; !slices.Equal(w.Core, []int{2, 3, 4, 5}) || !strings.Contains(last.Text, "had not seen it") {
		t.Errorf("core %v, %q", w.Core, last.Text)
	}
}
