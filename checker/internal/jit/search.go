package jit

import (
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// search is one run through time.
type search[S comparable] struct {
	Problem[S]
	ctx    context.Context
	limits Limits
	steps  int
	why    string // why it ended early

	slot   []int32      // by operation: its slot while it is open
	phase  []phase      // by operation
	holder [slots]int32 // by slot: the operation
	free   mask
	open   mask
	needy  bool      // some operation has Needs
	class  []int32   // by operation, if it is optional: its class of twins, which may be itself alone
	twins  [][]int32 // by class: the operations that were called, in that order
	pool   []int32   // classes of which some operation was called, and that are of use still

	front []config[S]
	set   set[S]
}

// phase of an operation.
type phase int8

const (
	waiting phase = iota // not called
	open
	over
)

func newSearch[S comparable](ctx context.Context, p Problem[S], limits Limits) *search[S] {
	n := len(p.Operations)
	s := &search[S]{
		Problem: p, ctx: ctx, limits: limits, slot: make([]int32, n), phase: make([]phase, n),
		class: make([]int32, n), front: []config[S]{{state: p.Start}},
	}
	for w := range s.free {
		s.free[w] = ^uint64(0)
	}
	classes, known := int32(0), map[int32]int32{}
	for i := range p.Operations {
		o := &p.Operations[i]
		s.needy = s.needy || len(o.Needs) > 0
		if !o.Optional {
			continue
		}
		if twin, again := known[o.Twin]; again && o.Twin >= 0 {
			s.class[i] = twin
			continue
		}
		s.class[i], known[o.Twin] = classes, classes
		classes++
	}
	s.twins = make([][]int32, classes)
	return s
}

func (s *search[S]) call(i int32) {
	s.phase[i] = open
	if s.Operations[i].Optional {
		class := s.class[i]
		if len(s.twins[class]) == 0 {
			s.pool = append(s.pool, class)
		}
		s.twins[class] = append(s.twins[class], i)
		return
	}
	slot, found := s.free.next(0)
	if !found {
		s.why = tooMany(slots)
		return
	}
	s.free, s.open = s.free.without(slot), s.open.with(slot)
	s.slot[i], s.holder[slot] = slot, i
}

// called are the operations that were called so far, ascending.
func (s *search[S]) called() []int32 {
	var list []int32
	for i, p := range s.phase {
		if p != waiting {
			list = append(list, int32(i))
		}
	}
	return list
}

// forget drops an optional operation that is of no use any more, used or not, and its
// twins with it: they have one Return.
func (s *search[S]) forget(i int32) {
	s.phase[i] = over
	class := s.class[i]
	if at := slices.Index(s.pool, class); at >= 0 {
		s.pool = slices.Delete(s.pool, at, at+1)
	}
	for k := range s.front {
		s.front[k].used = without(s.front[k].used, class)
	}
}

// settle: operation x returns, so it has been taken. Every configuration without it
// is led on, by one operation after the other, until it has; those that can't are
// gone. Afterwards the slot of x is free.
func (s *search[S]) settle(x int32) {
	s.set.reset()
	for _, c := range s.front {
		s.add(c)
	}
	slot := s.slot[x]
	for n := 0; n < len(s.set.list) && s.why == ""; n++ {
		if c := s.set.list[n]; !c.dominated && !c.taken.has(slot) {
			s.lead(c)
		}
	}
	s.front = s.front[:0]
	for _, c := range s.set.list {
		if !c.dominated && c.taken.has(slot) {
			c.taken = c.taken.without(slot)
			s.front = append(s.front, c)
		}
	}
	s.open, s.free = s.open.without(slot), s.free.with(slot)
	s.phase[x] = over
}

// lead adds what one more operation makes of a configuration.
func (s *search[S]) lead(c config[S]) {
	left := s.open.minus(c.taken)
	for slot, found := left.next(0); found; slot, found = left.next(slot + 1) {
		i := s.holder[slot]
		if next, ok := s.step(&c, i); ok {
			s.add(config[S]{state: next, taken: c.taken.with(slot), used: c.used, way: &way{i, c.way}})
		}
	}
	for _, class := range s.pool {
		s.steps++
		count := c.count(class)
		if int(count) == len(s.twins[class]) {
			continue
		}
		i := s.twins[class][count]
		if next, ok := s.step(&c, i); ok && next != c.state {
			s.add(config[S]{state: next, taken: c.taken, used: oneMore(c.used, class), way: &way{i, c.way}})
		}
	}
}

// add takes the observers, and keeps the configuration if no other one dominates it.
func (s *search[S]) add(c config[S]) {
	s.observe(&c)
	if !s.set.add(c) {
		return
	}
	bytes := int64(unsafe.Sizeof(c)) + 8*int64(len(c.used)) + entryBytes
	if s.Size != nil {
		bytes += int64(s.Size(c.state))
	}
	if s.set.bytes += bytes; s.set.bytes > s.limits.Memory {
		s.why = fmt.Sprintf("%d operations open at once, and too many ways that they may have gone", s.opened())
	}
}

// entryBytes is what a configuration takes beside itself: its key, its way.
const entryBytes = 150

func (s *search[S]) opened() int {
	n := 0
	for _, class := range s.pool {
		n += len(s.twins[class])
	}
	for slot, found := s.open.next(0); found; slot, found = s.open.next(slot + 1) {
		n++
	}
	return n
}

// observe takes the open operations that are legal and leave the state alone. One
// may be what another needs.
func (s *search[S]) observe(c *config[S]) {
	for again := true; again; {
		again = false
		left := s.open.minus(c.taken)
		for slot, found := left.next(0); found; slot, found = left.next(slot + 1) {
			i := s.holder[slot]
			if !s.Operations[i].Observer {
				continue
			}
			if next, ok := s.step(c, i); ok && next == c.state {
				c.taken, c.way = c.taken.with(slot), &way{i, c.way}
				again = s.needy
			}
		}
	}
}

// step is the specification's, for an operation that has all it needs.
func (s *search[S]) step(c *config[S], i int32) (next S, ok bool) {
	for _, a := range s.Operations[i].Needs {
		if s.phase[a] == waiting || s.phase[a] == open && !c.taken.has(s.slot[a]) {
			return next, false
		}
	}
	if s.steps++; s.steps > s.limits.Steps && s.why == "" {
		s.why = fmt.Sprintf("%d operations open at once, and too many orders to try", s.opened())
	}
	if s.steps%1024 == 0 && s.ctx.Err() != nil && s.why == "" {
		s.why = "the time limit"
	}
	if s.why != "" {
		return next, false
	}
	return s.Step(c.state, i)
}
