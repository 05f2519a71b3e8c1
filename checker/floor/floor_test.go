package floor_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/floor"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

// pairs are all stale pairs of different workers in a history, by the rules of the
// package model, looked at one by one.
func pairs(b *model.Book) (list [][2]int) {
	for _, r := range b.Resources() {
		ops := r.Operations()
		for i := range ops {
			for k := range ops {
				late, newer := &ops[i], &ops[k]
				if late.Counted && newer.Counted && late.Acked && newer.Acked && late.Worker != newer.Worker &&
					model.Parted(late.Grant, newer.Grant) && model.Precedes(newer, late) {
					list = append(list, [2]int{late.At, newer.At})
				}
			}
		}
	}
	return list
}

// feed shows the operations to a Watch, each with its grant named, in the order given,
// and returns what was reported.
func feed(b *model.Book, order []int) (reported [][2]int) {
	w := floor.New(b.History.Header.Fence)
	at := map[[2]any]int{}
	for _, i := range order {
		o := b.History.Ops[i]
		at[[2]any{o.Process, o.ID}] = i
		if g := b.Own(i); g != nil {
			o.Grant = g.ID
		}
		if s := w.Add(o); s != nil {
			find := func(o histories.Operation) int { return at[[2]any{o.Process, o.ID}] }
			reported = append(reported, [2]int{find(s.Late), find(s.Newer)})
		}
	}
	return reported
}

// interleave orders the operations at random, but for those of one process.
func interleave(r *rand.Rand, h *histories.History) []int {
	byProcess := map[string][]int{}
	var names []string
	for i := range h.Ops {
		p := h.Ops[i].Process
		if byProcess[p] == nil {
			names = append(names, p)
		}
		byProcess[p] = append(byProcess[p], i)
	}
	var order []int
	for len(names) > 0 {
		k := r.IntN(len(names))
		list := byProcess[names[k]]
		order = append(order, list[0])
		if byProcess[names[k]] = list[1:]; len(list) == 1 {
			names = slices.Delete(names, k, k+1)
		}
	}
	return order
}

// random is a history in which anything goes.
func random(r *rand.Rand) *histories.History {
	h := &histories.History{Header: histories.Header{
		Fence: []histories.Fence{histories.FenceOff, histories.FenceAll}[r.IntN(2)], Tokens: histories.TokensOrdered,
		Guards: []histories.Guard{{Lock: "L", Resource: "R"}},
	}}
	tokens, numbers := r.IntN(4) > 0, r.IntN(3)
	if !tokens {
		h.Header.Tokens = histories.TokensNone
	}
	clock, id := [4]int64{}, [4]int64{}
	next := int64(0)
	for range 4 + r.IntN(12) {
		p := r.IntN(4)
		o := histories.Operation{Process: string(rune('A' + p)), ID: id[p], Type: histories.OK, Invoke: clock[p] + int64(r.IntN(3))}
		id[p]++
		o.Return = o.Invoke + int64(r.IntN(12))
		clock[p] = o.Return + 1
		switch r.IntN(3) {
		case 0:
			o.F, o.Lock = histories.Acquire, "L"
			if next++; tokens {
				token := next
				if r.IntN(12) == 0 {
					token = 1 + r.Int64N(next)
				}
				o.Token = histories.Some(token)
			}
		case 1:
			o.F, o.Resource = histories.Write, "R"
		default:
			o.F, o.Resource = histories.Read, "R"
		}
		if o.F != histories.Acquire && (numbers == 2 || numbers == 1 && r.IntN(2) == 0) {
			o.Seq = histories.Some(o.Return/2 + r.Int64N(3))
		}
		h.Ops = append(h.Ops, o)
	}
	slices.SortStableFunc(h.Ops, func(a, b histories.Operation) int { return int(a.Invoke - b.Invoke) })
	return h
}

// TestAgainstEveryPair: whatever is reported is a stale pair; and where tokens order
// the grants, something is reported if there is such a pair, in whatever order the
// files of the processes are read.
func TestAgainstEveryPair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found, stale := 0, 0
	for range 40_000 {
		h := random(r)
		b, err := model.Resolve(h)
		if err != nil {
			t.Fatal(err)
		}
		want := pairs(b)
		got := feed(b, interleave(r, h))
		usable := true
		for _, o := range b.Orders() {
			usable = usable && (o.ByToken || h.Header.Tokens == histories.TokensNone)
		}
		if !usable { // tokens that contradict themselves, perhaps only later
			continue
		}
		for _, p := range got {
			if !slices.Contains(want, p) {
				t.Fatalf("reported %v, stale are %v:\n%s", p, want, text(h))
			}
		}
		if len(want) > 0 {
			stale++
			if len(got) == 0 {
				t.Fatalf("nothing reported, stale are %v:\n%s", want, text(h))
			}
			found++
		}
	}
	t.Logf("%d of %d histories with a stale pair", found, stale)
	if stale < 1000 {
		t.Errorf("only %d histories with a stale pair: the test shows little", stale)
	}
}

func text(h *histories.History) string {
	var s strings.Builder
	if err := histories.FormatText(&s, h); err != nil {
		return err.Error()
	}
	return s.String()
}

// TestCorpus: no known history is reported that is not expected to be invalid.
func TestCorpus(t *testing.T) {
	entries, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	caught := 0
	for _, e := range entries {
		b, err := model.Resolve(e.History)
		if err != nil {
			t.Fatal(err)
		}
		order := make([]int, len(e.History.Ops))
		for i := range order {
			order[i] = i
		}
		if got := feed(b, order); len(got) > 0 {
			caught++
			if e.History.Header.Expect["stale-write"] != "invalid" {
				t.Errorf("%s: reported %v", e.Name, got)
			}
		}
	}
	if caught < 10 {
		t.Errorf("%d histories of the corpus caught, more than that are stale", caught)
	}
}
