package exact

import "github.com/leasehold-checker/leasehold/checker/model"

// A write that was never answered may take effect after later writes of its own
// worker. Where it has a base, its place among them decides what must not lie
// between the two. Mostly the place is known from the reads of its value: workers
// read back, and successors read first. The other such writes are open: they have
// several places.

// placing says where an unanswered write may stand among its worker's acknowledged
// writes.
type placing struct {
	follows int32 // how many of them it certainly follows
	places  int32 // after these, after one more, and so on: the number of places; 0: too many
}

// mostPlaces bounds how many places of one write are tried.
const mostPlaces = 64

// findPlaces lists the unanswered writes that have a base, and those that are open.
func (l *lost) findPlaces() {
	l.placing = map[int32]placing{}
	p := placer{l, map[int32][]int32{}}
	for i := range l.ops {
		w := int32(i)
		if o := &l.ops[i]; o.Base < 0 || o.Acked || !l.happened[i] {
			continue
		}
		l.unanswered = append(l.unanswered, w)
		l.placing[w] = p.place(w)
		if l.placing[w].places != 1 {
			l.open = append(l.open, w)
		}
	}
}

// placer remembers the edges of zones (see edges), since a worker's writes are looked
// at again for every unanswered write before them.
type placer struct {
	*lost
	known map[int32][]int32
}

func (p *placer) edges(zone int32) []int32 {
	if _, found := p.known[zone]; !found {
		p.known[zone] = p.lost.edges(zone)
	}
	return p.known[zone]
}

// place looks at the worker's acknowledged writes one by one, and at what was read of
// each and of the unanswered write w.
func (p *placer) place(w int32) placing {
	o := &p.ops[w]
	mine, its := p.own.of(o.Worker), p.edges(w)
	at := placing{follows: max(p.own.followed(w, o.Worker), p.own.before[o.Base])} // it follows its base, too
	for k := at.follows; int(k) < len(mine); k++ {
		other := p.edges(mine[k])
		switch {
		case p.anyPrecedes(its, other):
			at.places = k - at.follows + 1
			return at
		case p.anyPrecedes(other, its):
			at.follows = k + 1
		case k-at.follows == mostPlaces:
			return at
		}
	}
	at.places = int32(len(mine)) - at.follows + 1
	return at
}

// anyPrecedes tells whether an operation of one cluster comes before one of another,
// and so their writes do. It looks at the edges of the two.
func (l *lost) anyPrecedes(edges, others []int32) bool {
	for _, a := range edges {
		for _, b := range others {
			if model.Precedes(&l.ops[a], &l.ops[b]) {
				return true
			}
		}
	}
	return false
}

// edges are the operations of a zone because of which it comes before or after
// others: its write; what was answered first and invoked last, of those with a number
// and of those without; and what has the smallest and the largest number.
func (s *Solver) edges(zone int32) []int32 {
	members := s.members(zone)
	if len(members) < 3 {
		return members
	}
	const none = -1
	answered, invoked := [2]int32{none, none}, [2]int32{none, none}
	lowest, highest := int32(none), int32(none)
	for _, i := range members {
		o, kind := &s.ops[i], 0
		if o.Numbered {
			kind = 1
			if lowest < 0 || model.Precedes(o, &s.ops[lowest]) {
				lowest = i
			}
			if highest < 0 || !model.Precedes(o, &s.ops[highest]) {
				highest = i
			}
		}
		if a := answered[kind]; o.Acked && (a < 0 || o.Answer < s.ops[a].Answer) {
			answered[kind] = i
		}
		if v := invoked[kind]; v < 0 || o.Invoke > s.ops[v].Invoke {
			invoked[kind] = i
		}
	}
	edges := make([]int32, 0, 7)
	for _, i := range []int32{members[0], answered[0], answered[1], invoked[0], invoked[1], lowest, highest} {
		if i >= 0 {
			edges = append(edges, i)
		}
	}
	return edges
}

// members lists the operations of a zone, a write first.
func (s *Solver) members(zone int32) []int32 {
	switch {
	case zone == s.n:
		return s.origin.initial
	case s.ops[zone].Write:
		return append([]int32{zone}, s.origin.readers(zone)...)
	}
	return []int32{zone}
}
