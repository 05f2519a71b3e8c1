package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// TestDiffCertificates: an order is confirmed if and only if it keeps the rules word
// for word, and a core is confirmed only if the whole is illegal. The orders are
// found ones with something moved, left out or doubled; the cores are any parts.
func TestDiffCertificates(t *testing.T) {
	t.Parallel()
	const parts = 8
	total := rounds(t, 40_000)
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for round := range total / parts {
				random := rand.New(rand.NewPCG(2000+uint64(part), uint64(round)))
				h := foldValues(random, randomHistory(random))
				b, err := Resolve(h)
				if err != nil {
					continue
				}
				q := questions()[round%len(questions())]
				for _, r := range b.Resources() {
					tryOrders(t, random, h, r, q, seen)
					tryCore(t, random, r, q, seen)
				}
				if t.Failed() {
					t.Fatalf("part %d, round %d, %+v:\n%s", part, round, q, text(h))
				}
			}
			for _, must := range []string{"order held", "order did not hold", "core held", "core did not hold"} {
				if seen[must] == 0 {
					t.Errorf("never: %s: %v", must, seen)
				}
			}
		})
	}
}

func tryOrders(t *testing.T, random *rand.Rand, h *histories.History, r *Resource, q Question, seen map[string]int) {
	t.Helper()
	found := r.DecideJIT(context.Background(), Question{Values: q.Values && random.IntN(2) == 0}, Limits{})
	if found.Answer != Legal {
		return
	}
	order := spoil(random, found.Order, len(r.ops))
	s := slow{b: r.book, h: h}
	err := r.Confirm(context.Background(), q, Decision{Answer: Legal, Order: order})
	switch want := s.accepts(r, order, q); {
	case err == nil:
		seen["order held"]++
		if !want {
			t.Errorf("order %v keeps no rules, and was confirmed", order)
		}
	case errors.Is(err, ErrCertificate):
		seen["order did not hold"]++
		if want {
			t.Errorf("order %v keeps the rules: %v", order, err)
		}
	default:
		t.Error(err)
	}
}

// spoil does one thing or nothing to an order of operations.
func spoil(random *rand.Rand, order []int32, operations int) []int32 {
	order = slices.Clone(order)
	if len(order) == 0 {
		return order
	}
	at := random.IntN(len(order))
	switch random.IntN(7) {
	case 0, 1:
		to := random.IntN(len(order))
		order[at], order[to] = order[to], order[at]
	case 2, 3:
		i := order[at]
		order = slices.Insert(slices.Delete(order, at, at+1), random.IntN(len(order)), i)
	case 4:
		order = slices.Delete(order, at, at+1)
	case 5:
		order = slices.Insert(order, at, int32(random.IntN(operations+2)-1))
	}
	return order
}

func (s slow) accepts(r *Resource, order []int32, q Question) bool {
	var places []int
	in := map[int32]bool{}
	for _, i := range order {
		if i < 0 || int(i) >= len(r.ops) || in[i] {
			return false
		}
		in[i] = true
		if !s.follows(r.Ops, places, r.ops[i].At, q) {
			return false
		}
		places = append(places, r.ops[i].At)
	}
	for i := range r.ops {
		if r.ops[i].Acked && !in[int32(i)] {
			return false
		}
	}
	return true
}

func tryCore(t *testing.T, random *rand.Rand, r *Resource, q Question, seen map[string]int) {
	t.Helper()
	ctx := context.Background()
	whole := r.Decide(ctx, q, Limits{})
	if whole == Legal && random.IntN(4) > 0 { // most are, and say little
		return
	}
	var core []int32
	for i := range r.ops {
		if random.IntN(6) > 0 {
			core = append(core, int32(i))
		}
	}
	switch err := r.Confirm(ctx, q, Decision{Answer: Illegal, Core: core}); {
	case err == nil:
		seen["core held"]++
		if whole != Illegal {
			t.Errorf("core %v was confirmed, and the whole is %v", core, whole)
		}
	case errors.Is(err, ErrCertificate):
		seen["core did not hold"]++
	default:
		t.Error(err)
	}
}

// A certificate that says nothing, or something else, is refused.
func TestConfirm(t *testing.T) {
	t.Parallel()
	const history = `guards: L -> R
initial: R = v0
0 A acquire L -> ok token=1
1 A read R -> ok value=v0
2..9 A write R a -> ok
3 B acquire L -> ok token=2
4..8 B write R b -> ok
10 C read R -> ok value=a
11 C read R -> ok value=b
`
	r := only(t, parse(t, history))
	q := Question{Values: true}
	tests := []struct {
		name string
		d    Decision
		q    Question
		want error
	}{
		{"undecided needs no proof", Decision{}, q, nil},
		{"two values in turn, with both writes", Decision{Answer: Illegal, Core: []int32{1, 2, 3, 4}}, q, nil},
		{"everything", Decision{Answer: Illegal, Core: []int32{0, 1, 2, 3, 4}}, q, nil},
		{"a read without its write is no reason", Decision{Answer: Illegal, Core: []int32{1, 3, 4}}, q, ErrCertificate},
		{"two writes can be ordered", Decision{Answer: Illegal, Core: []int32{1, 2}}, q, ErrCertificate},
		{"nothing at all", Decision{Answer: Illegal}, q, ErrCertificate},
		{"not ascending", Decision{Answer: Illegal, Core: []int32{2, 1, 3, 4}}, q, ErrCertificate},
		{"no such operation", Decision{Answer: Illegal, Core: []int32{1, 2, 3, 4, 5}}, q, ErrCertificate},
		{"legal, but for the values", Decision{Answer: Legal, Order: []int32{0, 1, 2, 3, 4}}, Question{}, nil},
		{"read late", Decision{Answer: Legal, Order: []int32{1, 2, 0, 3, 4}}, Question{}, ErrCertificate},
		{"against a value", Decision{Answer: Legal, Order: []int32{0, 1, 2, 3, 4}}, q, ErrCertificate},
		{"one twice", Decision{Answer: Legal, Order: []int32{0, 1, 2, 3, 3}}, Question{}, ErrCertificate},
		{"one too few", Decision{Answer: Legal, Order: []int32{0, 1, 2, 3}}, Question{}, ErrCertificate},
		{"back to an older grant", Decision{Answer: Legal, Order: []int32{0, 2, 1, 3, 4}}, Question{Grants: true}, ErrCertificate},
		{"the same, where grants don't count", Decision{Answer: Legal, Order: []int32{0, 2, 1, 3, 4}}, Question{}, nil},
	}
	for _, test := range tests {
		if err := r.Confirm(context.Background(), test.q, test.d); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// A core in which a write is based on an older read than in the whole proves nothing.
func TestConfirmBases(t *testing.T) {
	t.Parallel()
	r := only(t, parse(t, `guards: L -> R
0 A acquire L -> ok token=1
1 A read R -> ok
2 B acquire L -> ok token=2
3 B write R b -> ok
4 A read R -> ok
5 A write R a -> ok
`))
	q := Question{Values: true, Bases: true}
	if got := r.Decide(context.Background(), q, Limits{}); got != Legal {
		t.Fatalf("the whole is %v", got)
	}
	without := Decision{Answer: Illegal, Core: []int32{0, 1, 3}}
	if err := r.Confirm(context.Background(), q, without); !errors.Is(err, ErrCertificate) {
		t.Errorf("without the second read: %v", err)
	}
}

// A proof that cannot be checked in time is no fault of anybody.
func TestConfirmInTime(t *testing.T) {
	t.Parallel()
	r := only(t, hard())
	over, cancel := context.WithCancel(context.Background())
	cancel()
	var all []int32
	for i := range r.ops {
		all = append(all, int32(i))
	}
	for _, d := range []Decision{{Answer: Illegal, Core: all}, {Answer: Legal, Order: all}} {
		if err := r.Confirm(over, Question{Values: true}, d); !errors.Is(err, ErrUnconfirmed) {
			t.Errorf("%v: %v", d.Answer, err)
		}
	}
}
