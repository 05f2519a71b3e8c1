package model

import "encoding/binary"

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
	value  int32  // last value written
	front  front  // of the first lock: the grants that have touched the resource
	fronts string // of further locks, if operations on the resource name several (see fronts)
	fresh  string // bases that no foreign write has outdated, with the writes still to come (see freshness)
	placed string // set of the marked operations that were taken (see task.need)
}

// spec is the sequential specification of one resource: a start and a pure step.
type spec struct {
	Question
	ops   []Operation
	start State
	slot  []int32 // by operation: of its lock's front, -1 if nobody has to look at it
	uses  []int32 // by operation: writes that have this read as their base

	// For a search alone (see task); empty for a replay.
	unsure []bool    // by operation: it may not have happened, and nothing says that it did
	mark   []int32   // by operation: bit in State.placed, else -1
	needs  [][]int32 // by operation: the bits that have to be set before it
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
	if !ok && len(s.unsure) > 0 && s.unsure[i] {
		return st, true
	}
	return next, ok
}

func (s *spec) take(st State, i int) (State, bool) {
	if len(s.needs) > 0 && !s.ready(st, i) {
		return st, false
	}
	o := &s.ops[i]
	if s.Values && o.Read && o.Value >= 0 && o.Value != st.value {
		return st, false
	}
	if s.Bases && o.Write && o.Base >= 0 && !fresh(st.fresh, o.Base) {
		return st, false
	}
	if s.Grants && s.slot[i] >= 0 && st.of(s.slot[i]).outdates(o.Grant) {
		return st, false
	}
	return s.effect(st, i), true
}

func (s *spec) ready(st State, i int) bool {
	for _, bit := range s.needs[i] {
		if !has(st.placed, bit) {
			return false
		}
	}
	return true
}

// effect is what operation i leaves behind, legal or not.
func (s *spec) effect(st State, i int) State {
	o := &s.ops[i]
	if slot := s.slot[i]; s.Grants && slot >= 0 {
		st = st.touch(slot, o.Grant)
	}
	if s.Bases && o.Read && s.uses[i] > 0 {
		st.fresh = freshen(st.fresh, o.Index, s.uses[i])
	}
	if o.Write {
		if s.Bases && o.Base >= 0 {
			st.fresh = use(st.fresh, o.Base)
		}
		if s.Bases && o.Acked {
			st.fresh = s.keepOwn(st.fresh, o.Worker)
		}
		if s.Values {
			st.value = o.Value
		}
	}
	if len(s.mark) > 0 && s.mark[i] >= 0 {
		st.placed = with(st.placed, s.mark[i])
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

func makeEntry(read int32, left uint32) (e [freshness]byte) {
	binary.BigEndian.PutUint32(e[:4], uint32(read))
	binary.BigEndian.PutUint32(e[4:], left)
	return e
}

// seek is where a read stands in the list, or would stand.
func seek(list string, read int32) (at int, found bool) {
	for ; at < len(list); at += freshness {
		if r, _ := entry(list, at); r >= read {
			return at, r == read
		}
	}
	return at, false
}

func fresh(list string, read int32) bool {
	_, found := seek(list, read)
	return found
}

func freshen(list string, read, uses int32) string {
	at, _ := seek(list, read)
	e := makeEntry(read, uint32(uses))
	return list[:at] + string(e[:]) + list[at:]
}

func use(list string, read int32) string {
	at, found := seek(list, read)
	if !found {
		return list
	}
	_, left := entry(list, at)
	if left == 1 {
		return list[:at] + list[at+freshness:]
	}
	e := makeEntry(read, left-1)
	return list[:at] + string(e[:]) + list[at+freshness:]
}

// keepOwn drops the bases of everybody but the writer: they are outdated.
func (s *spec) keepOwn(list string, writer int32) string {
	mine := func(at int) bool {
		r, _ := entry(list, at)
		return s.ops[r].Worker == writer
	}
	first := 0 // of the others'
	for first < len(list) && mine(first) {
		first += freshness
	}
	if first == len(list) {
		return list
	}
	kept := append(make([]byte, 0, len(list)), list[:first]...)
	for at := first + freshness; at < len(list); at += freshness {
		if mine(at) {
			kept = append(kept, list[at:at+freshness]...)
		}
	}
	return string(kept)
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

// newSpec readies the specification. It is complete for a replay, but for uses; a
// search adds what is its own.
func newSpec(r *Resource, q Question) *spec {
	s := &spec{
		Question: q, ops: r.ops, start: State{value: -1, front: noFront},
		slot: make([]int32, len(r.ops)), uses: make([]int32, len(r.ops)),
	}
	if q.Values {
		s.start.value = r.initial
	}
	for i := range s.slot {
		s.slot[i] = -1
	}
	s.findLocks()
	return s
}

// findLocks gives every lock of which two grants count a front of its own, and the
// first one State.front.
func (s *spec) findLocks() {
	const alone = -1
	first, slots := map[*lockOrder]*Grant{}, map[*lockOrder]int32{}
	locks := int32(0)
	for i := range s.ops {
		g := s.ops[i].Grant
		if !s.ops[i].Counted {
			continue
		}
		o := g.place.order
		if first[o] == nil {
			first[o], slots[o] = g, alone
		} else if first[o] != g && slots[o] == alone {
			slots[o] = locks
			locks++
		}
	}
	for i := range s.ops {
		if s.ops[i].Counted {
			s.slot[i] = slots[s.ops[i].Grant.place.order]
		}
	}
	if s.Grants && locks > 1 {
		s.start.fronts = manyFronts(int(locks) - 1)
	}
}
