package exact_test

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// slowLost is rule 4 word for word, over all orders of the operations of one
// resource: what the exact answer is compared with.
type slowLost struct {
	b   *model.Book
	h   *histories.History
	ops []int // places in History.Ops: accepted, and writes without an answer
}

// first: "a comes before b if a was answered before b was invoked", a worker's own
// order, and numbers, which win where both operations have one.
func (s *slowLost) first(a, b int) bool {
	x, y := &s.h.Ops[a], &s.h.Ops[b]
	n, numbered := x.Seq.Get()
	m, both := y.Seq.Get()
	switch {
	case numbered && both && n == m:
		return x.F == histories.Write && y.F != histories.Write
	case numbered && both:
		return n < m
	case x.Type != histories.OK:
		return false
	case x.Process == y.Process:
		return a < b
	}
	return x.Return < y.Invoke
}

// base: "the same worker's last ok read under the grant under which the write was
// decided; without a grant there is none". It is -1 for none.
func (s *slowLost) base(write int) int {
	base := -1
	for _, i := range s.ops {
		r := &s.h.Ops[i]
		if r.F == histories.Read && r.Type == histories.OK && r.Process == s.h.Ops[write].Process && i < write &&
			s.b.Under(write) != nil && s.b.Own(i) == s.b.Under(write) {
			base = i
		}
	}
	return base
}

// explained tells whether there is an order of what was accepted, and of some of the
// writes that were not answered, that explains every value, and in which no other
// worker's acknowledged write lies between a write and its base.
func (s *slowLost) explained(order []int) bool {
	in := map[int]bool{}
	for _, i := range order {
		in[i] = true
	}
	done := true
	for _, i := range s.ops {
		if in[i] {
			continue
		}
		done = done && s.h.Ops[i].Type != histories.OK
		if s.mayFollow(order, i) && s.explained(append(order[:len(order):len(order)], i)) {
			return true
		}
	}
	return done
}

func (s *slowLost) mayFollow(order []int, x int) bool {
	o := &s.h.Ops[x]
	value := s.h.Header.Initial[o.Resource]
	for _, y := range order {
		if s.first(x, y) {
			return false
		}
		if s.h.Ops[y].F == histories.Write {
			value = s.h.Ops[y].Value.Or("")
		}
	}
	switch o.F {
	case histories.Read:
		v, known := o.Value.Get()
		return !known || v == value
	case histories.Write:
		return s.keepsBase(order, x)
	}
	return true
}

func (s *slowLost) keepsBase(order []int, write int) bool {
	base, seen := s.base(write), false
	for _, y := range order {
		o := &s.h.Ops[y]
		if y == base {
			seen = true
		} else if seen && o.F == histories.Write && o.Type == histories.OK && o.Process != s.h.Ops[write].Process {
			return false
		}
	}
	return seen || base < 0
}
