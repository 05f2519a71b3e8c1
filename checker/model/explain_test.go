package model

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDiffExplainers: in every order that keeps the rules, the last write before a
// read is one that it may have seen. And no more writes are named than the reasons
// given leave, compared one by one.
func TestDiffExplainers(t *testing.T) {
	t.Parallel()
	seen, excluded := 0, 0
	for round := range rounds(t, 5_000) {
		random := rand.New(rand.NewPCG(3000, uint64(round)))
		h := foldValues(random, randomHistory(random))
		b, err := Resolve(h)
		if err != nil {
			continue
		}
		s := slow{b: b, h: h}
		for _, r := range b.Resources() {
			e := r.Explainers()
			if len(r.Ops) <= 5 {
				s.eachOrder(r.Ops, nil, func(order []int) { seen += checkSeen(t, r, e, order) })
			}
			for i := range r.ops {
				excluded += checkNarrowed(t, r, e, int32(i))
			}
		}
		if t.Failed() {
			t.Fatalf("round %d:\n%s", round, text(h))
		}
	}
	if seen == 0 || excluded == 0 {
		t.Errorf("%d reads seen in orders, %d writes excluded", seen, excluded)
	}
}

// eachOrder visits all orders that keep the values, with any of the unanswered.
func (s slow) eachOrder(ops, order []int, visit func([]int)) {
	visit(order)
	for _, i := range ops {
		if !slices.Contains(order, i) && s.follows(ops, order, i, Question{Values: true}) {
			s.eachOrder(ops, append(order[:len(order):len(order)], i), visit)
		}
	}
}

// checkSeen looks at whole orders: all acknowledged operations are in them.
func checkSeen(t *testing.T, r *Resource, e *Explainers, order []int) (seen int) {
	t.Helper()
	for i := range r.ops {
		if r.ops[i].Acked && !slices.Contains(order, r.ops[i].At) {
			return 0
		}
	}
	last := -1
	for _, at := range order {
		i := slices.Index(r.Ops, at)
		if o := &r.ops[i]; o.Write {
			last = at
		} else if o.Read && o.Value >= 0 && last >= 0 {
			seen++
			if !slices.Contains(e.At(at), last) {
				t.Errorf("in order %v read %d sees write %d, which is not among %v", order, at, last, e.At(at))
			}
		}
	}
	return seen
}

func checkNarrowed(t *testing.T, r *Resource, e *Explainers, read int32) (excluded int) {
	t.Helper()
	got := e.Of(read)
	var want []int32
	writes := 0
	for w := range r.ops {
		if o := &r.ops[w]; !o.Write || !r.ops[read].Read || o.Value < 0 || o.Value != r.ops[read].Value {
			continue
		}
		writes++
		if e.count[r.ops[read].Value] == 1 || e.mayExplain(int32(w), read) {
			want = append(want, int32(w))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %d may have seen %v, one by one: %v", read, got, want)
	}
	return writes - len(want)
}
