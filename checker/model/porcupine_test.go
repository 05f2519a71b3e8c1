package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
)

// campaign is a history in which two workers take turns at each lock, read, write
// and read back; the resource numbers everything. Every grant lasts for a read, a
// write and a read. With stale, the last write of the first resource is one of the
// grant before.
func campaign(resources, operations int, stale bool) *histories.History {
	h := &histories.History{Header: histories.Header{Initial: map[string]string{}}}
	for r := range resources {
		h.Header.Guards = append(h.Header.Guards, histories.Guard{Lock: fmt.Sprint("L", r), Resource: fmt.Sprint("R", r)})
	}
	at, value := int64(0), make([]string, resources)
	do := func(o histories.Operation) {
		o.Type, o.Invoke, o.Return, o.ID = histories.OK, at, at+1, at
		at += 2
		h.Ops = append(h.Ops, o)
	}
	for n := range operations / 3 {
		for r := range resources {
			worker, lock, name := fmt.Sprint(2*r+n%2), fmt.Sprint("L", r), fmt.Sprint("R", r)
			do(histories.Operation{Process: worker, F: histories.Acquire, Lock: lock, Token: histories.Some(int64(n))})
			v := fmt.Sprintf("v%d", n)
			if stale && r == 0 && n == operations/3-1 {
				worker = fmt.Sprint(1 - n%2)
			}
			seq := int64(3 * n)
			do(histories.Operation{Process: worker, F: histories.Read, Resource: name, Value: histories.Some(value[r]), Seq: histories.Some(seq)})
			if stale && r == 0 && n == operations/3-1 {
				do(histories.Operation{Process: fmt.Sprint(n % 2), F: histories.Write, Resource: name, Value: histories.Some("w"), Seq: histories.Some(seq + 1)})
			}
			do(histories.Operation{Process: worker, F: histories.Write, Resource: name, Value: histories.Some(v), Seq: histories.Some(seq + 2)})
			do(histories.Operation{Process: worker, F: histories.Read, Resource: name, Value: histories.Some(v), Seq: histories.Some(seq + 2)})
			value[r] = v
		}
	}
	return h
}

func only(t testing.TB, h *histories.History) *Resource {
	t.Helper()
	b, err := Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	return b.Resources()[0]
}

func TestChunks(t *testing.T) {
	t.Parallel()
	whole := Limits{Chunk: 1 << 30}
	for _, stale := range []bool{false, true} {
		r := only(t, campaign(1, 900, stale))
		want := r.Judge(context.Background(), whole)
		if (want.Stale == Illegal) != stale || (want.Lost == Illegal) != stale {
			t.Errorf("stale %v: %+v", stale, want)
		}
		for _, size := range []int{1, 7, 256} {
			if got := r.Judge(context.Background(), Limits{Chunk: size}); got != want {
				t.Errorf("stale %v, chunks of %d: %+v, want %+v", stale, size, got, want)
			}
		}
		task := newTask(context.Background(), r, Question{Values: true})
		if n := len(task.chunks(100)); n < 9 {
			t.Errorf("%d chunks of a sequence of 900 operations", n)
		}
	}
}

// A chunk must not end where the state is uncertain: two overlapping writes may end
// in two states, and only a later read says in which.
func TestNoCutAfterConcurrency(t *testing.T) {
	t.Parallel()
	h := &histories.History{Header: histories.Header{Guards: []histories.Guard{{Lock: "L", Resource: "R"}}}}
	add := func(worker string, f histories.F, value string, from, to int64) {
		h.Ops = append(h.Ops, histories.Operation{Process: worker, F: f, Type: histories.OK, Resource: "R",
			Value: histories.Some(value), Invoke: from, Return: to, ID: int64(len(h.Ops))})
	}
	add("A", histories.Write, "a", 0, 10)
	add("B", histories.Write, "b", 1, 9)
	add("A", histories.Read, "a", 11, 12)
	if j := only(t, h).Judge(context.Background(), Limits{Chunk: 1}); j.Lost != Legal {
		t.Errorf("lost-update %v", j.Lost)
	}
	add("A", histories.Read, "b", 13, 14)
	if j := only(t, h).Judge(context.Background(), Limits{Chunk: 1}); j.Lost != Illegal {
		t.Errorf("with both values read: lost-update %v", j.Lost)
	}
}

// hard is a history that Porcupine can't do in a sensible time: many concurrent
// writes, and a read that none of them explains.
func hard() *histories.History {
	h := &histories.History{Header: histories.Header{Guards: []histories.Guard{{Lock: "L", Resource: "R"}}}}
	for i := range 24 {
		h.Ops = append(h.Ops, histories.Operation{Process: fmt.Sprint(i), F: histories.Write, Type: histories.OK,
			Resource: "R", Value: histories.Some(fmt.Sprint(i)), Return: 100})
	}
	for _, v := range []string{"1", "2", "1"} {
		at := h.Ops[len(h.Ops)-1].Return + 1
		h.Ops = append(h.Ops, histories.Operation{Process: "r", F: histories.Read, Type: histories.OK, Resource: "R",
			Value: histories.Some(v), Invoke: at, Return: at + 1, ID: at})
	}
	return h
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := only(t, hard())
	q := Question{Values: true}
	if got := r.Decide(context.Background(), q, Limits{Memory: 1 << 20}); got != Undecided {
		t.Errorf("with a megabyte: %v", got)
	}
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if got := r.Decide(short, q, Limits{}); got != Undecided {
		t.Errorf("with a millisecond: %v", got)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if got := r.Decide(gone, q, Limits{}); got != Undecided {
		t.Errorf("cancelled: %v", got)
	}
}

// A hundred reads of one number are a hundred steps, not all their permutations.
func TestManyReadsOfOneNumber(t *testing.T) {
	t.Parallel()
	h := &histories.History{Header: histories.Header{Fence: histories.FenceAll, Guards: []histories.Guard{{Lock: "L", Resource: "R"}}}}
	for i := range 100 {
		v := ""
		if i == 99 {
			v = "never written"
		}
		h.Ops = append(h.Ops, histories.Operation{Process: fmt.Sprint(i), F: histories.Read, Type: histories.OK, Resource: "R",
			Value: histories.Some(v), Seq: histories.Some[int64](0), Return: 100})
	}
	if got := only(t, h).Decide(context.Background(), Question{Values: true}, Limits{Memory: 1 << 20}); got != Illegal {
		t.Errorf("%v", got)
	}
}

// The step is pure: whatever order is tried, a state and an operation give one
// answer, and the state that went in is unchanged.
func TestStepIsPure(t *testing.T) {
	t.Parallel()
	for round := range 300 {
		b, err := Resolve(randomHistory(rand.New(rand.NewPCG(99, uint64(round)))))
		if err != nil {
			continue
		}
		for _, r := range b.Resources() {
			task := newTask(context.Background(), r, Question{Values: true, Grants: true, Bases: true})
			state := task.start
			for _, i := range task.in {
				before := state
				next, ok := task.step(state, int(i))
				again, sameOK := task.step(state, int(i))
				if next != again || ok != sameOK || state != before {
					t.Fatalf("round %d: %+v, then %+v", round, next, again)
				}
				state = next
			}
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	h := campaign(10, 2000, false)
	for b.Loop() {
		book, err := Resolve(h)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range book.Resources() {
			if j := r.Judge(context.Background(), Limits{}); j.Stale != Legal || j.Lost != Legal {
				b.Fatalf("%+v", j)
			}
		}
	}
}
