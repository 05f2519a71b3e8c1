package checker_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

func parse(t testing.TB, text string) *histories.History {
	t.Helper()
	h, err := histories.ParseText(strings.NewReader(text), "test.hist")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return h
}

func check(t testing.TB, h *histories.History) checker.Result {
	t.Helper()
	r, err := checker.Check(context.Background(), h, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The corpus: what is expected comes out, and what is not named is not invalid.
func TestCorpus(t *testing.T) {
	t.Parallel()
	entries, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	named := map[checker.Property]int{}
	for _, e := range entries {
		r := check(t, e.History)
		for _, p := range r.Properties {
			want := e.History.Header.Expect[string(p.Property)]
			if want != "" {
				named[p.Property]++
			}
			if want != "" && string(p.Verdict) != want || want == "" && p.Verdict == checker.Invalid {
				t.Errorf("%s: %s is %s, want %q", e.Name, p.Property, p.Verdict, want)
			}
		}
		judgeWitnesses(t, e.Name, e.History, r)
	}
	for p, least := range map[checker.Property]int{checker.StaleWrite: 45, checker.LostUpdate: 15, checker.Exclusion: 93, checker.TokenOrder: 19,
		checker.LiveGrant: 15, checker.Belief: 20} {
		if named[p] < least {
			t.Errorf("only %d expectations of %s", named[p], p)
		}
	}
}

// judgeWitnesses: every witness is a history of its own that is invalid for the same
// property, and its story is one that a person would read.
func judgeWitnesses(t *testing.T, name string, h *histories.History, r checker.Result) {
	t.Helper()
	for _, p := range r.Properties {
		if (p.Violations > 0) != (p.Verdict == checker.Invalid) || p.Checked < p.Violations {
			t.Errorf("%s: %s is %s with %d violations of %d cases", name, p.Property, p.Verdict, p.Violations, p.Checked)
		}
		if (len(p.Witnesses) > 0) != (p.Verdict == checker.Invalid) {
			t.Errorf("%s: %s is %s with %d witnesses", name, p.Property, p.Verdict, len(p.Witnesses))
		}
		for _, w := range p.Witnesses {
			alone := check(t, parse(t, w.Histories))
			if alone.Property(p.Property).Verdict != checker.Invalid {
				t.Errorf("%s: the witness of %s is %s alone:\n%s", name, p.Property, alone.Property(p.Property).Verdict, w.Histories)
			}
			judgeStory(t, name, h, w)
		}
	}
}

func judgeStory(t *testing.T, name string, h *histories.History, w checker.Witness) {
	t.Helper()
	if n := len(w.Story); n < 2 || n > 7 {
		t.Errorf("%s: a story of %d sentences", name, n)
	}
	if w.Story[len(w.Story)-1].Mood != checker.Wrong {
		t.Errorf("%s: the last sentence is %+v", name, w.Story[len(w.Story)-1])
	}
	ops := map[int]bool{}
	for _, i := range w.Ops {
		ops[i] = true
	}
	for _, i := range append(w.Core, w.Stale) {
		if !ops[i] {
			t.Errorf("%s: operation %d is in the core and not among %v", name, i, w.Ops)
		}
	}
	for _, s := range w.Story {
		if s.Op >= len(h.Ops) || s.Op >= 0 && !ops[s.Op] {
			t.Errorf("%s: sentence of operation %d: %s", name, s.Op, s.Text)
		}
		if s.TimeNS < 0 || s.TimeNS == histories.Never {
			t.Errorf("%s: sentence at %d: %s", name, s.TimeNS, s.Text)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		hist string
		want checker.Verdict
		why  string // begins with
	}{
		{"No operation at all is no evidence.", "", checker.Unknown, "nothing to judge: no worker"},
		{"One grant alone puts nothing to the test.", `
0 A acquire L -> ok token=1
1 A write R x -> ok`, checker.Unknown, "nothing to judge: no resource"},
		{"A pause alone puts nothing to the test, either.", `
0 nemesis pause A
1 nemesis resume A`, checker.Unknown, "nothing to judge: no worker"},
		{"Two holders in turn are valid.", `
0 A acquire L -> ok token=1
1 A write R x -> ok
2 A release L -> ok
3 B acquire L -> ok token=2
4 B write R y -> ok`, checker.Valid, ""},
		{"The older one after the newer one is not.", `
0 A acquire L -> ok token=1
1 A write R x -> ok
3 B acquire L -> ok token=2
4 B write R y -> ok
5 A write R z -> ok`, checker.Invalid, ""},
		{"A read of what nobody wrote is invalid, though no case of lost-update was there.", `
0 A acquire L -> ok token=1
1 A read R -> ok value=x`, checker.Invalid, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := &histories.History{}
			if test.hist != "" {
				h = parse(t, test.hist)
			}
			r := check(t, h)
			if r.Verdict != test.want || !strings.HasPrefix(r.Why, test.why) || test.why == "" && r.Why != "" {
				t.Errorf("%s, %q", r.Verdict, r.Why)
			}
		})
	}
}

func TestRefusesMalformedInput(t *testing.T) {
	t.Parallel()
	backwards := &histories.History{Source: "h.hist", Ops: []histories.Operation{{Process: "A", F: histories.Check, Lock: "L", Type: histories.OK, Invoke: 5, Return: 1, Line: 3}}}
	if _, err := checker.Check(context.Background(), backwards, checker.Options{}); err == nil || !strings.Contains(err.Error(), "h.hist:3") {
		t.Errorf("an answer before its question: %v", err)
	}
	h := parse(t, "0 A acquire L -> ok token=1\n1 A write R x grant=B.9 -> ok\n")
	if _, err := checker.Check(context.Background(), h, checker.Options{}); !errors.Is(err, checker.ErrUnknownGrant) {
		t.Errorf("a grant of nobody: %v", err)
	}
}

func TestTimeLimitIsUnknown(t *testing.T) {
	t.Parallel()
	h := parse(t, demo)
	r, err := checker.Check(context.Background(), h, checker.Options{Timeout: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	// The demo's violation is proven by two numbered operations, limit or not.
	if p := r.Property(checker.StaleWrite); p.Verdict != checker.Invalid {
		t.Errorf("stale-write %s", p.Verdict)
	}
	h = parse(t, strings.ReplaceAll(demo, "1 write R1 a1", "3 write R1 a1"))
	if r, err = checker.Check(context.Background(), h, checker.Options{Timeout: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if p := r.Property(checker.StaleWrite); p.Verdict != checker.Unknown || p.Why == "" {
		t.Errorf("without a violation: %+v", p)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := checker.Check(gone, h, checker.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Not parallel: it changes the number of processors.
func TestSameBytesOnAnyNumberOfCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	entries, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(entries, corpus.Entry{Name: "demo", History: parse(t, demo)}) {
		first := ""
		for _, n := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(n)
			text, err := json.Marshal(check(t, e.History))
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(text)
			}
			if string(text) != first {
				t.Errorf("%s: other bytes on %d processors", e.Name, n)
			}
		}
	}
}
