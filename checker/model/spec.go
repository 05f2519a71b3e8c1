package model

import (
	"encoding/binary"
	"math"
)

// Question says which rules an order of the operations has to keep.
type Question struct {
	Values bool // every read returns the last value written
	Grants bool // nothing of an older grant after something of a newer one
	Bases  bool // no acknowledged foreign write between a write and its base
	// SeqOnly: of the order that the history gives, keep only the resource's own
	// numbers. For histories in which numbers and real time contradict each other.
	SeqOnly bool
}

// State is what the resource remembers: all that a later operation can tell. It is
// comparable; equal states are the same.
type State struct {
	value  int32 // last value written
	newest int32 // usable tokens: the highest place of a grant that has touched the resource; -1: none
	// forbidden is a set of grants that may no longer act, where tokens give no
	// order: one number can't say it, since not every two grants are ordered.
	forbidden string
	fresh     string // bases that no foreign write has outdated, with the writes still to come (see freshness)
	placed    string // set of the marked operations that were taken (see task.need)
}

// spec is the sequential specification of one resource: a start and a pure step.
type spec struct {
	Question
	ops     []operation
	start   State
	place   []int32  // by operation: of its grant, with usable tokens
	newer   []int32  // by operation: the first place that outdates its grant
	slot    []int32  // by operation: of its grant in the forbidden set, else -1
	outdate []string // by slot: the grants that are forbidden once this one has acted
	uses    []int32  // by operation: writes that have this read as their base
	unsure  []bool   // by operation: it may not have happened, and nothing says that it did
	mark    []int32  // by operation: bit in State.placed, else -1
	needs   [][]int32
}

// step takes operation i in the given state. It is pure and deterministic.
//
// A write that may not have happened is always legal: where it could not be taken
// it counts as not happened, and the state stays. That is exact, although it never
// tries "did not happen" where the write would be legal: such a write is never due
// (its interval has no end), so an order without it is an order with it at the very
// end, where nobody sees what it does.
func (s *spec) step(st State, i int) (State, bool) {
	next, ok := s.take(st, i)
	if !ok && s.unsure[i] {
		return st, true
	}
	return next, ok
}

func (s *spec) take(st State, i int) (State, bool) {
	for _, bit := range s.needs[i] {
		if !has(st.placed, bit) {
			return st, false
		}
	}
	o := &s.ops[i]
	if s.Values && o.read && o.value >= 0 && o.value != st.value {
		return st, false
	}
	if s.Bases && o.write && o.base >= 0 && !fresh(st.fresh, o.base) {
		return st, false
	}
	if s.Grants && o.counted && s.outdated(st, i) {
		return st, false
	}
	return s.effect(st, i), true
}

func (s *spec) outdated(st State, i int) bool {
	if slot := s.slot[i]; slot >= 0 {
		return has(st.forbidden, slot)
	}
	return st.newest >= s.newer[i]
}

// effect is what operation i leaves behind, legal or not.
func (s *spec) effect(st State, i int) State {
	o := &s.ops[i]
	if s.Grants && o.counted {
		if slot := s.slot[i]; slot >= 0 {
			st.forbidden = union(st.forbidden, s.outdate[slot])
		} else {
			st.newest = max(st.newest, s.place[i])
		}
	}
	if s.Bases && o.read && s.uses[i] > 0 {
		st.fresh = freshen(st.fresh, o.index, s.uses[i])
	}
	if o.write {
		if s.Bases && o.base >= 0 {
			st.fresh = use(st.fresh, o.base)
		}
		if s.Bases && o.acked {
			st.fresh = s.keepOwn(st.fresh, o.worker)
		}
		if s.Values {
			st.value = o.value
		}
	}
	if bit := s.mark[i]; bit >= 0 {
		st.placed = with(st.placed, bit)
	}
	return st
}

// freshness is a list of (read, writes still to come), ascending by read, eight
// bytes each: a read leaves it with the last write that is based on it, so that the
// list stays short however long a history is.
const freshness = 8

func entry(list string, at int) (read int32, left uint32) {
	read = int32(binary.BigEndian.Uint32([]byte(list[at : at+4])))
	return read, binary.BigEndian.Uint32([]byte(list[at+4 : at+8]))
}

func appendEntry(list []byte, read int32, left uint32) []byte {
	list = binary.BigEndian.AppendUint32(list, uint32(read))
	return binary.BigEndian.AppendUint32(list, left)
}

func fresh(list string, read int32) bool {
	for at := 0; at < len(list); at += freshness {
		if r, _ := entry(list, at); r == read {
			return true
		}
	}
	return false
}

func freshen(list string, read, uses int32) string {
	at := 0
	for at < len(list) {
		if r, _ := entry(list, at); r > read {
			break
		}
		at += freshness
	}
	out := append(make([]byte, 0, len(list)+freshness), list[:at]...)
	return string(append(appendEntry(out, read, uint32(uses)), list[at:]...))
}

func use(list string, read int32) string {
	out := make([]byte, 0, len(list))
	for at := 0; at < len(list); at += freshness {
		r, left := entry(list, at)
		if r == read {
			left--
		}
		if left > 0 {
			out = appendEntry(out, r, left)
		}
	}
	return string(out)
}

// keepOwn drops the bases of everybody but the writer: they are outdated.
func (s *spec) keepOwn(list string, writer int32) string {
	out := make([]byte, 0, len(list))
	for at := 0; at < len(list); at += freshness {
		if r, left := entry(list, at); s.ops[r].worker == writer {
			out = appendEntry(out, r, left)
		}
	}
	return string(out)
}

// Sets of small numbers, as strings of bits of one length each, so that equal sets
// are equal strings.

func emptySet(n int) string { return string(make([]byte, (n+7)/8)) }

func has(set string, bit int32) bool { return set[bit/8]>>(bit%8)&1 == 1 }

func with(set string, bit int32) string {
	out := []byte(set)
	out[bit/8] |= 1 << (bit % 8)
	return string(out)
}

func union(a, b string) string {
	var out []byte
	for i := range len(b) {
		if b[i]&^a[i] != 0 {
			if out == nil {
				out = []byte(a)
			}
			out[i] |= b[i]
		}
	}
	if out == nil {
		return a
	}
	return string(out)
}

// newSpec readies the specification. Marks and needs are filled by the task.
func newSpec(r *Resource, q Question) *spec {
	n := len(r.ops)
	s := &spec{
		Question: q, ops: r.ops, start: State{value: -1, newest: -1},
		place: make([]int32, n), newer: make([]int32, n), slot: make([]int32, n), uses: make([]int32, n),
		unsure: make([]bool, n), mark: make([]int32, n), needs: make([][]int32, n),
	}
	if q.Values {
		s.start.value = r.initial
	}
	for i := range r.ops {
		s.slot[i], s.mark[i] = -1, -1
	}
	s.rankGrants()
	return s
}

// rankGrants gives every counted operation the numbers by which the step compares
// grants: places, if one lock with usable tokens is all there is, else slots of a
// set.
func (s *spec) rankGrants() {
	slots := map[*Grant]int32{}
	var grants []*Grant
	single := true
	for i := range s.ops {
		g := s.ops[i].grant
		if !s.ops[i].counted {
			continue
		}
		if _, known := slots[g]; !known {
			slots[g] = int32(len(grants))
			grants = append(grants, g)
		}
		single = single && g.place.order == grants[0].place.order && g.place.order.tokens
	}
	for i := range s.ops {
		if g := s.ops[i].grant; s.ops[i].counted {
			s.place[i], s.newer[i] = int32(g.place.pos), int32(min(g.place.newer, math.MaxInt32))
			if !single {
				s.slot[i] = slots[g]
			}
		}
	}
	if single || !s.Grants {
		return
	}
	s.start.forbidden = emptySet(len(grants))
	s.outdate = make([]string, len(grants))
	for k, g := range grants {
		set := make([]byte, (len(grants)+7)/8)
		for j, a := range grants {
			if Parted(a, g) {
				set[j/8] |= 1 << (j % 8)
			}
		}
		s.outdate[k] = string(set)
	}
}
