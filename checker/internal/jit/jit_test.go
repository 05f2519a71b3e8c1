package jit

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// register is a small specification: a value that is written and read, and a level
// that an operation may raise but not go below.
type register struct{ value, level int8 }

type action struct {
	write bool
	value int8 // written or read
	level int8 // 0: does not look at it
}

func (a action) step(s register) (register, bool) {
	if !a.write && s.value != a.value || a.level > 0 && a.level < s.level {
		return s, false
	}
	if a.write {
		s.value = a.value
	}
	s.level = max(s.level, a.level)
	return s, true
}

type example struct {
	operations []Operation
	actions    []action
}

func (e *example) problem() Problem[register] {
	return Problem[register]{Operations: e.operations, Step: func(s register, i int32) (register, bool) { return e.actions[i].step(s) }}
}

// random makes up to seven operations, half of them as a register would have
// answered, with equal values, equal times, and needs.
func random(r *rand.Rand) *example {
	e := &example{}
	n := 1 + r.IntN(7)
	state := register{}
	for i := range n {
		o := Operation{Call: int64(r.IntN(8)), Optional: r.IntN(4) == 0, Twin: -1}
		o.Return = o.Call + int64(r.IntN(5))
		a := action{write: o.Optional || r.IntN(2) == 0, value: int8(r.IntN(3)), level: int8(r.IntN(3))}
		if !a.write && r.IntN(2) == 0 {
			a.value = state.value
		}
		if next, ok := a.step(state); ok {
			state = next
		}
		if r.IntN(5) == 0 && i > 0 && !e.operations[i-1].Optional {
			o.Needs = []int32{int32(i - 1)}
		}
		o.Observer = !a.write
		e.operations, e.actions = append(e.operations, o), append(e.actions, a)
	}
	e.optional()
	return e
}

// optional gives operations that may not have happened their return (nobody reads
// their value later) and their twins.
func (e *example) optional() {
	for i := range e.operations {
		o := &e.operations[i]
		if !o.Optional {
			continue
		}
		o.Return = o.Call
		for k, a := range e.actions {
			if !a.write && a.value == e.actions[i].value {
				o.Return = max(o.Return, e.operations[k].Return)
			}
		}
		if len(o.Needs) == 0 {
			o.Twin = int32(e.actions[i].value)*10 + int32(e.actions[i].level)
		}
	}
}

// orders tells whether there is an order of the operations that are due, by trying
// all of them. The others may be in it.
func (e *example) orders(in []int32, due map[int32]bool, state register, done []int32) bool {
	left := false
	for _, i := range in {
		if slices.Contains(done, i) {
			continue
		}
		left = left || due[i]
		if !e.mayFollow(i, in, done) {
			continue
		}
		if next, ok := e.actions[i].step(state); ok && e.orders(in, due, next, append(done[:len(done):len(done)], i)) {
			return true
		}
	}
	return !left
}

// mayFollow: whatever came before i does not have to come after it, and what it needs
// is there.
func (e *example) mayFollow(i int32, in, done []int32) bool {
	for _, k := range done {
		if !e.operations[i].Optional && e.operations[i].Return < e.operations[k].Call {
			return false
		}
	}
	for _, a := range e.operations[i].Needs {
		if !slices.Contains(done, a) {
			return false
		}
	}
	for _, k := range in { // due operations that precede i
		if !e.operations[k].Optional && e.operations[k].Return < e.operations[i].Call && !slices.Contains(done, k) {
			return false
		}
	}
	return true
}

func (e *example) due(by int64) (in []int32, due map[int32]bool) {
	due = map[int32]bool{}
	for i := range e.operations {
		if o := &e.operations[i]; o.Call <= by {
			in = append(in, int32(i))
			due[int32(i)] = !o.Optional && o.Return <= by
		}
	}
	return in, due
}

func rounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("ROUNDS"))
	if err != nil {
		return 100_000
	}
	return n
}

// TestDiff compares with a search through all orders; an order that was found is one,
// and what failed is the shortest beginning that has none.
func TestDiff(t *testing.T) {
	t.Parallel()
	legal, illegal := 0, 0
	for round := range rounds(t) {
		e := random(rand.New(rand.NewPCG(7, uint64(round))))
		in, due := e.due(math.MaxInt64)
		want := e.orders(in, due, register{}, nil)
		got := Decide(context.Background(), e.problem(), Limits{Steps: 1e6, Memory: 1e9})
		switch {
		case !got.Decided:
			t.Errorf("undecided: %s", got.Why)
		case (got.Order != nil) != want:
			t.Errorf("%+v, all orders: %v", got, want)
		case want:
			legal++
			e.replay(t, got.Order)
		default:
			illegal++
			e.shortest(t, got.Failed)
		}
		if t.Failed() {
			t.Fatalf("round %d: %+v\n%+v", round, e.operations, e.actions)
		}
	}
	if min(legal, illegal) < rounds(t)/20 {
		t.Errorf("%d legal, %d illegal", legal, illegal)
	}
}

func (e *example) replay(t *testing.T, order []int32) {
	t.Helper()
	in, due := e.due(math.MaxInt64)
	state := register{}
	for k, i := range order {
		next, ok := e.actions[i].step(state)
		if !ok || slices.Contains(order[:k], i) || !e.mayFollow(i, in, order[:k]) {
			t.Errorf("order %v breaks at %d", order, k)
		}
		state = next
		due[i] = false
	}
	for i, d := range due {
		if d {
			t.Errorf("order %v is without %d", order, i)
		}
	}
}

func (e *example) shortest(t *testing.T, failed []int32) {
	t.Helper()
	last := int64(math.MinInt64)
	for i := range e.operations { // the returns at which what failed was called, and nothing else
		if o := &e.operations[i]; !o.Optional {
			in, due := e.due(o.Return)
			if slices.Equal(in, failed) && !e.orders(in, due, register{}, nil) {
				last = o.Return
			}
			if len(in) < len(failed) && !e.orders(in, due, register{}, nil) {
				t.Errorf("%v fails already, not only %v", in, failed)
			}
		}
	}
	if last == math.MinInt64 {
		t.Errorf("%v does not fail", failed)
	}
}

// More open operations than a machine word has bits are no matter; more than 256 are
// left to others.
func TestManyOpen(t *testing.T) {
	t.Parallel()
	for open, want := range map[int]bool{65: true, 256: true, 257: false} {
		e := &example{}
		for i := range open { // one write, and reads before and after it
			e.operations = append(e.operations, Operation{Return: 1000, Observer: i > 0, Twin: -1})
			e.actions = append(e.actions, action{write: i == 0, value: int8(max(1-i, i%2))})
		}
		got := Decide(context.Background(), e.problem(), Limits{Steps: 1e7, Memory: 1e9})
		if got.Decided != want && (want || !strings.Contains(got.Why, "256 operations open")) {
			t.Errorf("%d open: %+v", open, got)
		}
	}
}

// Hundreds of writes that may not have happened stand for one if they do the same.
func TestTwins(t *testing.T) {
	t.Parallel()
	e := &example{}
	add := func(o Operation, a action) {
		o.Observer = !a.write
		e.operations, e.actions = append(e.operations, o), append(e.actions, a)
	}
	for i := range 600 {
		at := int64(10 * i)
		add(Operation{Call: at, Optional: true, Twin: -1}, action{write: true, value: int8(1 + i%2)})
		add(Operation{Call: at + 1, Return: at + 2, Twin: -1}, action{value: int8(1 + i%2)})
	}
	e.optional()
	legal := Decide(context.Background(), e.problem(), Limits{Steps: 1e6, Memory: 1e8})
	if !legal.Decided || legal.Order == nil {
		t.Errorf("%d reads, each of a write of its own: %v, %s", 600, legal.Decided, legal.Why)
	}
	add(Operation{Call: 7000, Return: 7001, Twin: -1}, action{value: 3})
	if got := Decide(context.Background(), e.problem(), Limits{Steps: 1e6, Memory: 1e8}); !got.Decided || got.Order != nil {
		t.Errorf("a value that nobody wrote: %v, %s", got.Decided, got.Why)
	}
}

// The limits end a search that would not end in a lifetime, and say why.
func TestLimits(t *testing.T) {
	t.Parallel()
	e := &example{}
	for i := range 40 {
		e.operations = append(e.operations, Operation{Return: 10, Twin: -1})
		e.actions = append(e.actions, action{write: true, value: int8(i)})
	}
	for _, v := range []int8{1, 2, 1} {
		at := e.operations[len(e.operations)-1].Return + 1
		e.operations = append(e.operations, Operation{Call: at, Return: at, Observer: true, Twin: -1})
		e.actions = append(e.actions, action{value: v})
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		ctx    context.Context
		limits Limits
		want   string
	}{
		{context.Background(), Limits{Steps: 1e5, Memory: 1e9}, "40 operations open at once, and too many orders to try"},
		{context.Background(), Limits{Steps: 1e9, Memory: 1e6}, "40 operations open at once, and too many ways that they may have gone"},
		{over, Limits{Steps: 1e9, Memory: 1e9}, "the time limit"},
	} {
		if got := Decide(test.ctx, e.problem(), test.limits); got.Decided || got.Why != test.want {
			t.Errorf("%+v, want %q", got, test.want)
		}
	}
}

// Two runs give one answer, the order included.
func TestSameAnswer(t *testing.T) {
	t.Parallel()
	for round := range 200 {
		e := random(rand.New(rand.NewPCG(8, uint64(round))))
		a := Decide(context.Background(), e.problem(), Limits{Steps: 1e6, Memory: 1e9})
		b := Decide(context.Background(), e.problem(), Limits{Steps: 1e6, Memory: 1e9})
		if !slices.Equal(a.Order, b.Order) || !slices.Equal(a.Failed, b.Failed) {
			t.Fatalf("%+v, then %+v", a, b)
		}
	}
}
