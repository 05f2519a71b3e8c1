package jit

import (
	"cmp"
	"slices"
)

// config is what the operations so far may have led to.
type config[S comparable] struct {
	state S
	taken mask   // open operations that were taken
	used  []used // optional operations that were taken and are of use still, by class; shared, so never changed
	way   *way

	dominated bool
	alike     int32 // in a set: the one before with this state and these operations taken; -1: none
}

// way is how a configuration came about: its last operation, and what was before.
type way struct {
	operation int32
	before    *way
}

func (c *config[S]) order() []int32 {
	order := []int32{}
	for w := c.way; w != nil; w = w.before {
		order = append(order, w.operation)
	}
	slices.Reverse(order)
	return order
}

// set holds configurations, none of which dominates another, in the order in which
// they were found: the same in every run.
type set[S comparable] struct {
	list  []config[S]
	bytes int64
	index map[key[S]]int32 // into list: the last one of each kind; nil while there are few
}

type key[S comparable] struct {
	state S
	taken mask
}

// few configurations are looked through faster than they are hashed.
const few = 8

func (s *set[S]) reset() {
	const large = 4096
	s.bytes, s.index = 0, nil
	if cap(s.list) > large {
		s.list = nil
	}
	clear(s.list)
	s.list = s.list[:0]
}

// add tells whether c is new: no other one dominates it.
func (s *set[S]) add(c config[S]) bool {
	c.alike = -1
	if len(s.list) < few {
		for k := range s.list {
			if s.list[k].state == c.state && s.list[k].taken == c.taken && s.beaten(int32(k), &c) {
				return false
			}
		}
		s.list = append(s.list, c)
		return true
	}
	if s.index == nil {
		s.index = make(map[key[S]]int32, 4*few)
		for k := range s.list {
			s.enter(int32(k))
		}
	}
	if last, known := s.index[key[S]{c.state, c.taken}]; known {
		for k := last; k >= 0; k = s.list[k].alike {
			if s.beaten(k, &c) {
				return false
			}
		}
	}
	s.list = append(s.list, c)
	s.enter(int32(len(s.list) - 1))
	return true
}

func (s *set[S]) enter(k int32) {
	c := &s.list[k]
	at := key[S]{c.state, c.taken}
	if last, known := s.index[at]; known {
		c.alike = last
	}
	s.index[at] = k
}

// beaten compares c with the k-th configuration, which is alike but for the optional
// operations, and tells whether c is of no use beside it.
func (s *set[S]) beaten(k int32, c *config[S]) bool {
	other := &s.list[k]
	if !other.dominated && subset(other.used, c.used) {
		return true
	}
	other.dominated = other.dominated || subset(c.used, other.used)
	return false
}

// used says how many operations of a class of twins were taken: the first ones, in
// the order of their calls.
type used struct{ class, count int32 }

func byClass(u used, class int32) int { return cmp.Compare(u.class, class) }

// count is how many of a class were taken.
func (c *config[S]) count(class int32) int32 {
	if at, found := slices.BinarySearchFunc(c.used, class, byClass); found {
		return c.used[at].count
	}
	return 0
}

// oneMore is what was used after one more of a class.
func oneMore(list []used, class int32) []used {
	at, found := slices.BinarySearchFunc(list, class, byClass)
	list = slices.Clone(list)
	if !found {
		return slices.Insert(list, at, used{class, 1})
	}
	list[at].count++
	return list
}

// without is what was used and is of use still, when a class is not.
func without(list []used, class int32) []used {
	if at, found := slices.BinarySearchFunc(list, class, byClass); found {
		return slices.Delete(slices.Clone(list), at, at+1)
	}
	return list
}

// subset tells whether a is part of b.
func subset(a, b []used) bool {
	if len(a) > len(b) {
		return false
	}
	k := 0
	for _, x := range a {
		for k < len(b) && b[k].class < x.class {
			k++
		}
		if k == len(b) || b[k].class != x.class || b[k].count < x.count {
			return false
		}
	}
	return true
}
