package model

import (
	"cmp"
	"math"
	"slices"
)

// ready fills what Of looks at.
func (e *Explainers) ready() {
	if e.plain != nil {
		return
	}
	ops := e.r.ops
	answer := func(i int32) int64 { return ops[i].Answer }
	e.plain = e.shelve(func(o *Operation) bool { return o.Acked && !o.Numbered }, answer)
	e.open = e.shelve(func(o *Operation) bool { return !o.Acked }, answer)
	e.numbered = e.shelve(func(o *Operation) bool { return o.Numbered }, func(i int32) int64 { return ops[i].Seq })
	e.overwriters()
}

// shelf holds writes by value, those of one value by invocation.
type shelf struct {
	start  []int32 // by value: where its writes begin
	writes []int32
	most   []int64 // of a value's writes up to this one: how far the furthest reaches
	least  []int64 // of a value's writes from this one on: how far the nearest reaches
}

func (e *Explainers) shelve(holds func(*Operation) bool, reach func(int32) int64) *shelf {
	ops, s := e.r.ops, &shelf{start: make([]int32, len(e.r.values)+1)}
	take := func(o *Operation) bool { return o.Write && o.Value >= 0 && holds(o) }
	for i := range ops {
		if take(&ops[i]) {
			s.start[ops[i].Value+1]++
		}
	}
	for v := range e.r.values {
		s.start[v+1] += s.start[v]
	}
	n, next := s.start[len(e.r.values)], slices.Clone(s.start)
	s.writes, s.most, s.least = make([]int32, n), make([]int64, n), make([]int64, n)
	for i := range ops {
		if take(&ops[i]) {
			s.writes[next[ops[i].Value]] = int32(i)
			next[ops[i].Value]++
		}
	}
	for v := range e.r.values {
		s.fill(s.start[v], s.start[v+1], reach)
	}
	return s
}

func (s *shelf) fill(from, to int32, reach func(int32) int64) {
	most, least := int64(math.MinInt64), int64(math.MaxInt64)
	for k := from; k < to; k++ {
		most = max(most, reach(s.writes[k]))
		s.most[k] = most
	}
	for k := to - 1; k >= from; k-- {
		least = min(least, reach(s.writes[k]))
		s.least[k] = least
	}
}

// between are the writes of a value before an operation, without the first ones, none
// of which reaches as far as a bound.
func (s *shelf) between(value int32, bound int64, before int32) []int32 {
	from, to := s.start[value], s.start[value+1]
	skip, _ := slices.BinarySearch(s.most[from:to], bound)
	list := s.until(value, before)
	return list[min(skip, len(list)):]
}

// until are the writes of a value before an operation.
func (s *shelf) until(value, before int32) []int32 {
	list := s.writes[s.start[value]:s.start[value+1]]
	n, _ := slices.BinarySearch(list, before)
	return list[:n]
}

// startingBy is one more than the last write of a value that reaches no further than a
// bound; 0 if there is none.
func (s *shelf) startingBy(value int32, bound int64) int32 {
	from, to := s.start[value], s.start[value+1]
	n, _ := slices.BinarySearchFunc(s.least[from:to], bound, func(least, bound int64) int {
		if least <= bound {
			return -1
		}
		return 1
	})
	if n == 0 {
		return 0
	}
	return s.writes[int(from)+n-1] + 1
}

// overwriters finds, for every read, three acknowledged writes before it that may have
// overwritten others: of those without a number, the one that was invoked last; of
// those with one, the one with the highest number, and the one that was invoked last.
// Another may have done so where they did not; then a write more is kept than need be.
func (e *Explainers) overwriters() {
	e.last = make([][3]int32, len(e.r.ops))
	for i := range e.last {
		e.last[i] = [3]int32{-1, -1, -1}
	}
	var plain, numbered []int32
	for i := range e.r.ops {
		switch o := &e.r.ops[i]; {
		case !o.Write || !o.Acked:
		case o.Numbered:
			numbered = append(numbered, int32(i))
		default:
			plain = append(plain, int32(i))
		}
	}
	e.sweepTime(plain, numbered)
	e.sweepNumbers(numbered)
}

// sweepTime looks at the writes that were answered before a read was invoked.
func (e *Explainers) sweepTime(plain, numbered []int32) {
	ops := e.r.ops
	byAnswer := func(a, b int32) int { return cmp.Or(cmp.Compare(ops[a].Answer, ops[b].Answer), cmp.Compare(a, b)) }
	plain, numbered = slices.Clone(plain), slices.Clone(numbered)
	slices.SortFunc(plain, byAnswer)
	slices.SortFunc(numbered, byAnswer)
	last := [3]int32{-1, -1, -1}
	for i := range ops { // by invocation
		for ; len(plain) > 0 && ops[plain[0]].Answer < ops[i].Invoke; plain = plain[1:] {
			last[0] = max(last[0], plain[0]) // the later index was invoked later
		}
		for ; len(numbered) > 0 && ops[numbered[0]].Answer < ops[i].Invoke; numbered = numbered[1:] {
			k := numbered[0]
			if last[1] < 0 || ops[k].Seq > ops[last[1]].Seq {
				last[1] = k
			}
			last[2] = max(last[2], k)
		}
		if ops[i].Read && ops[i].Numbered {
			e.last[i][0] = last[0]
		} else if ops[i].Read {
			e.last[i] = last
		}
	}
}

// sweepNumbers looks at the writes whose numbers come before that of a read.
func (e *Explainers) sweepNumbers(numbered []int32) {
	ops := e.r.ops
	list := slices.Clone(numbered)
	for i := range ops {
		if ops[i].Read && ops[i].Numbered {
			list = append(list, int32(i))
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ops[a].Seq, ops[b].Seq), cmp.Compare(later(&ops[a]), later(&ops[b])), cmp.Compare(a, b))
	})
	highest, latest := int32(-1), int32(-1)
	for _, i := range list {
		if ops[i].Write {
			highest, latest = i, max(latest, i)
		} else {
			e.last[i][1], e.last[i][2] = highest, latest
		}
	}
}
