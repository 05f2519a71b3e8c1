package histories_test

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

// diff compares what a history says: not from where it was read, and not the
// numbers of operations, of which only the order counts.
func diff(a, b *histories.History) string {
	return gocmp.Diff(canonical(a), canonical(b), cmpopts.EquateEmpty(), gocmp.Comparer(func(x, y histories.Option[int64]) bool { return x == y }),
		gocmp.Comparer(func(x, y histories.Option[string]) bool { return x == y }),
		gocmp.Comparer(func(x, y histories.Option[bool]) bool { return x == y }))
}

func canonical(h *histories.History) *histories.History {
	c := *h
	c.Source, c.Warnings = "", nil
	c.Header.Fence = cmp.Or(c.Header.Fence, histories.FenceOff)
	c.Header.Tokens = cmp.Or(c.Header.Tokens, histories.TokensOrdered)
	c.Ops = slices.Clone(h.Ops)
	next := map[string]int64{}
	for i := range c.Ops {
		o := &c.Ops[i]
		o.Line, o.ID = 0, next[o.Process]
		next[o.Process]++
	}
	return &c
}

func throughJSONL(t *testing.T, h *histories.History) (*histories.History, string) {
	t.Helper()
	var b bytes.Buffer
	if err := histories.EncodeJSONL(&b, h); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := histories.ReadFrom(&b, "h.jsonl")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return back, text
}

func throughText(t *testing.T, h *histories.History) (*histories.History, string) {
	t.Helper()
	var b bytes.Buffer
	if err := histories.FormatText(&b, h); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := histories.ReadFrom(&b, "h.hist")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return back, text
}

func TestJSONLKeepsEverything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		h := randomHistory(rand.New(rand.NewPCG(seed, 1)), 3, 12, false)
		back, text := throughJSONL(t, h)
		if d := diff(h, back); d != "" {
			t.Fatalf("seed %d: %s\n%s", seed, d, text)
		}
		if _, again := throughJSONL(t, back); again != text {
			t.Fatalf("seed %d: the second text differs:\n%s\n%s", seed, text, again)
		}
	}
}

func TestTextAndJSONLKeepTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		h := randomHistory(rand.New(rand.NewPCG(seed, 2)), 3, 12, true)
		fromText, text := throughText(t, h)
		if d := diff(h, fromText); d != "" {
			t.Fatalf("seed %d: hist: %s\n%s", seed, d, text)
		}
		fromJSONL, _ := throughJSONL(t, fromText)
		if d := diff(h, fromJSONL); d != "" {
			t.Fatalf("seed %d: hist, jsonl: %s\n%s", seed, d, text)
		}
		if _, again := throughText(t, fromJSONL); again != text {
			t.Fatalf("seed %d: the second text differs:\n%s\n%s", seed, text, again)
		}
	}
}

func TestCorpusGoesThroughBothNotations(t *testing.T) {
	t.Parallel()
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		fromJSONL, _ := throughJSONL(t, e.History)
		fromText, text := throughText(t, fromJSONL)
		if d := diff(e.History, fromText); d != "" {
			t.Errorf("%s: %s\n%s", e.Name, d, text)
		}
	}
}

// What only names a run does not stand in the text notation.
func TestTextLeavesOutWhatNamesARun(t *testing.T) {
	t.Parallel()
	h := randomHistory(rand.New(rand.NewPCG(1, 2)), 1, 1, true)
	h.Header.Cell, h.Header.Seed = "a/b", histories.Some(int64(1))
	back, _ := throughText(t, h)
	if back.Header.Cell != "" || back.Header.Seed.Known() {
		t.Errorf("kept %+v", back.Header)
	}
}

func TestFormatTextRefusesWhatItCannotSay(t *testing.T) {
	t.Parallel()
	write := histories.Operation{Process: "1", F: histories.Write, Type: histories.OK, Resource: "R", Lock: "L", Value: histories.Some("a")}
	for _, row := range []struct {
		why    string
		change func(*histories.History)
	}{
		{"a value of two words would be read as an argument", func(h *histories.History) { h.Ops[0].Value = histories.Some("a b") }},
		{"an empty value is no word", func(h *histories.History) { h.Ops[0].Value = histories.Some("") }},
		{"an arrow is no value", func(h *histories.History) { h.Ops[0].Value = histories.Some("->") }},
		{"this value looks like a token", func(h *histories.History) { h.Ops[0].Value = histories.Some("token=1") }},
		{"a resource of two words", func(h *histories.History) { h.Ops[0].Resource = "R S" }},
		{"a process of two words", func(h *histories.History) { h.Ops[0].Process = "1 2" }},
		{"a lock of two words", func(h *histories.History) { h.Ops[0].Lock = "L M" }},
		{"a reason of two lines", func(h *histories.History) { h.Ops[0].Type, h.Ops[0].Error = histories.Fail, "a\nb" }},
		{"a reason that ends in a number", func(h *histories.History) { h.Ops[0].Type, h.Ops[0].Error = histories.Fail, "a seq=3" }},
		{"a function of two words", func(h *histories.History) {
			h.Ops[0] = histories.Operation{Process: histories.Nemesis, F: "slow disk", Type: histories.OK}
		}},
		{"an initial value of two words", func(h *histories.History) { h.Header.Initial = map[string]string{"R": "a b"} }},
		{"a guard of two words", func(h *histories.History) { h.Header.Guards = []histories.Guard{{Lock: "L", Resource: "R S"}} }},
		{"a source of two lines, the second of which is an expectation", func(h *histories.History) {
			h.Header.From = []string{"a\nexpect: stale-write=invalid"}
		}},
		{"an empty source", func(h *histories.History) { h.Header.From = []string{""} }},
	} {
		h := &histories.History{Ops: []histories.Operation{write}}
		row.change(h)
		var b bytes.Buffer
		if err := histories.FormatText(&b, h); err == nil || !strings.Contains(err.Error(), "cannot say") {
			t.Errorf("%s: got %v and\n%s", row.why, err, b.String())
		}
		back, _ := throughJSONL(t, h)
		if d := diff(h, back); d != "" {
			t.Errorf("%s: JSON Lines lost it: %s", row.why, d)
		}
	}
}
