package exact

import (
	"maps"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// The reasons for which an answer may be missing.
const (
	outOfTime  = "the time is over"
	twoSources = "a value that was read was written twice"
	bareBase   = "a write is based on a read of no value"
	oneNumber  = "two writes of one worker have the same number"
	manyPlaces = "unanswered writes have too many places"
	noFit      = "the regions of the history do not fit together"
	openRims   = "only unanswered writes lie between two runs of writes"
)

// search looks for a reading (see reading) that has an order, or shows that none has.
//
// With every constraint known, there is one reading. With open writes, the strictest
// one is tried first: an order for it is one by the rule. Then the loosest: if that has
// none, there is none. If the two differ, the open writes have to be placed, region by
// region if there are several.
func (l *lost) search() (model.Decision, finder) {
	strict := l.try(reading{nil, true}, nil)
	if strict.legal() {
		return legal(strict.order), nil
	}
	loose := strict
	if l.uncertain(nil) {
		loose = l.solve(reading{nil, false}, nil)
	}
	if loose.illegal() {
		return l.illegalBy([]attempt{loose})
	}
	if regions := l.regions(smallRegion); len(regions) > 1 {
		if answer, find := l.byRegion(regions); answer.Answer != model.Undecided {
			return answer, find
		}
	}
	s := searcher{lost: l}
	order, walks := s.place(map[int32]int32{}, strict)
	switch {
	case order != nil:
		return legal(order), nil
	case s.doubt != "":
		return undecided(s.doubt), nil
	}
	return l.illegalBy(walks)
}

// illegalBy is the answer if walks show that there is no order. If the order of some
// worker's writes is not known, they only show where to look for a part that is
// illegal, and in which it is known.
func (l *lost) illegalBy(walks []attempt) (model.Decision, finder) {
	find := func() []int32 { return l.core(walks) }
	if l.own.unordered {
		return undecided(oneNumber), find
	}
	return illegal(nil), find
}

// uncertain tells whether the loosest reading differs from the strictest.
func (l *lost) uncertain(place map[int32]int32) bool {
	return len(l.bare) > 0 || len(place) < len(l.open)
}

// try is solve, and an order counts only if it can be replayed.
func (l *lost) try(how reading, glued []bond) attempt {
	a := l.solve(how, glued)
	if a.legal() && !l.replays(a.order) {
		return attempt{bonds: a.bonds}
	}
	return a
}

// searcher places open writes.
type searcher struct {
	*lost
	doubt string // why it is not certain that there is no order
}

// budget bounds the readings that are tried: the operations that may still be looked
// at. It grows with the resource, so that the time for each operation is bounded.
type budget struct{ left int }

func newBudget(n int32) *budget { return &budget{16*int(n) + 100_000} }

// spend counts a reading; false if there may be no more.
func (l *lost) spend() bool {
	l.budget.left -= max(int(l.n), 50)
	return l.budget.left >= 0 && l.ctx.Err() == nil
}

// place decides all readings in which some open writes have their places, of which
// the strictest has no order (strict) and the loosest may have one: it chooses a
// further write, and looks at all of its places. If there is no order and no doubt, the
// walks show it.
func (s *searcher) place(placed map[int32]int32, strict attempt) (order []int32, walks []attempt) {
	if order := s.tryRims(reading{placed, true}, strict.rims, nil); order != nil {
		return order, nil
	}
	w := s.choose(&strict, placed)
	if w < 0 {
		s.doubt = s.why(placed)
		return nil, nil
	}
	for k := range s.placing[w].places {
		if !s.spend() {
			s.doubt = manyPlaces
			return nil, nil
		}
		next := maps.Clone(placed)
		next[w] = k
		order, more := s.branch(next, k, strict)
		if order != nil {
			return order, nil
		}
		walks = append(walks, more...)
	}
	return nil, walks
}

// branch decides all readings in which some open writes have their places. The last
// of them was given place k, which was 0 in the strictest reading before.
func (s *searcher) branch(placed map[int32]int32, k int32, before attempt) (order []int32, walks []attempt) {
	strict := before
	if k > 0 {
		strict = s.try(reading{placed, true}, nil)
	}
	if strict.legal() {
		return strict.order, nil
	}
	loose := strict
	if s.uncertain(placed) {
		loose = s.solve(reading{placed, false}, nil)
	}
	if loose.illegal() {
		return nil, []attempt{loose}
	}
	return s.place(placed, strict)
}

// deepRims is how many bonds between rims are tried together.
const deepRims = 3

// tryRims makes blocks neighbours, whose rims are one gap then.
func (s *searcher) tryRims(how reading, rims, glued []bond) []int32 {
	for _, b := range rims {
		if !s.spend() {
			return nil
		}
		more := append(glued[:len(glued):len(glued)], b)
		a := s.try(how, more)
		if a.legal() {
			return a.order
		}
		if len(more) < deepRims {
			if order := s.tryRims(how, a.rims, more); order != nil {
				return order
			}
		}
	}
	return nil
}

// choose picks an open write that has no place yet: one that the failure of the
// strictest reading has to do with, if there is one; -1 if none can be picked.
func (s *searcher) choose(strict *attempt, placed map[int32]int32) int32 {
	near := map[int32]bool{}
	for _, v := range strict.walk {
		near[v] = true
	}
	best := int32(-1)
	for _, w := range s.open {
		if _, done := placed[w]; done || s.placing[w].places == 0 {
			continue
		}
		if near[w] || near[s.zone[s.ops[w].Base]] {
			return w
		}
		if best < 0 {
			best = w
		}
	}
	return best
}

// why says what stands in the way when no more writes can be placed.
func (s *searcher) why(placed map[int32]int32) string {
	switch {
	case len(s.bare) > 0:
		return bareBase
	case len(placed) < len(s.open):
		return manyPlaces
	}
	return openRims
}
