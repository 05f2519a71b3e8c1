package model

import (
	"cmp"
	"slices"
)

// StaleOperations finds the accepted operations of older grants that certainly came
// to the resource after an accepted operation of a newer one: places in History.Ops.
// It needs no search: two operations that the history itself puts in this order are
// illegal in every order. With seqOnly only the resource's own numbers count (see
// Question).
func (r *Resource) StaleOperations(seqOnly bool) []int {
	touching := r.touching()
	return places(r.stale(touching, touching, seqOnly))
}

// FirstNewer is the first operation that makes a stale operation stale; both are
// places in History.Ops. It is -1 if there is none.
func (r *Resource) FirstNewer(op int, seqOnly bool) int {
	sources := r.touching()
	for _, o := range sources {
		if o.at == op {
			if first := firstNewer(sources, o, seqOnly); first != nil {
				return first.at
			}
		}
	}
	return -1
}

func places(list []*operation) []int {
	var out []int
	for _, o := range list {
		out = append(out, o.at)
	}
	return out
}

// StaleRefused finds the writes of older grants that came after an accepted
// operation of a newer one, and that the resource refused: places in History.Ops. With
// seqOnly only the resource's own numbers count (see Question).
func (r *Resource) StaleRefused(seqOnly bool) []int {
	var refused []*operation
	for i := range r.refused {
		if r.refused[i].counted {
			refused = append(refused, &r.refused[i])
		}
	}
	return places(r.stale(r.touching(), refused, seqOnly))
}

// touching are the operations that raise the fence, if there is one.
func (r *Resource) touching() []*operation {
	var list []*operation
	for i := range r.ops {
		if r.ops[i].counted && r.ops[i].acked {
			list = append(list, &r.ops[i])
		}
	}
	return list
}

// stale lists the targets that certainly come after a source of a newer grant.
func (r *Resource) stale(sources, targets []*operation, seqOnly bool) []*operation {
	numbers, others := split(sources)
	numbered, unnumbered := split(targets)
	late := sweepNumbers(numbers, numbered)
	if !seqOnly {
		late = append(late, sweepTime(others, targets)...)
		late = append(late, sweepTime(numbers, unnumbered)...)
	}
	slices.SortFunc(late, func(a, b *operation) int { return cmp.Compare(a.at, b.at) })
	return slices.Compact(late)
}

func split(list []*operation) (numbered, unnumbered []*operation) {
	for _, o := range list {
		if o.numbered {
			numbered = append(numbered, o)
		} else {
			unnumbered = append(unnumbered, o)
		}
	}
	return numbered, unnumbered
}

// sweepNumbers goes through the numbers and remembers which grants were there.
func sweepNumbers(sources, targets []*operation) (late []*operation) {
	byNumber := func(a, b *operation) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(later(a), later(b)))
	}
	sources, targets = slices.Clone(sources), slices.Clone(targets)
	slices.SortStableFunc(sources, byNumber)
	slices.SortStableFunc(targets, byNumber)
	seen, done := sightings{}, 0
	for _, o := range targets {
		for ; done < len(sources) && precedes(sources[done], o); done++ {
			seen.add(sources[done].grant)
		}
		if seen.parts(o.grant) {
			late = append(late, o)
		}
	}
	return late
}

// sweepTime goes through time: what was answered before an operation was invoked,
// and what its own worker did before it.
func sweepTime(sources, targets []*operation) (late []*operation) {
	byAnswer := slices.Clone(sources)
	slices.SortStableFunc(byAnswer, func(a, b *operation) int { return cmp.Compare(a.answer, b.answer) })
	seen, done := sightings{}, 0
	own, begun := map[int32]sightings{}, 0
	for _, o := range targets { // by invocation, as the sources
		for ; done < len(byAnswer) && byAnswer[done].answer < o.invoke; done++ {
			seen.add(byAnswer[done].grant)
		}
		for ; begun < len(sources) && sources[begun].at < o.at; begun++ {
			w := sources[begun].worker
			if own[w] == nil {
				own[w] = sightings{}
			}
			own[w].add(sources[begun].grant)
		}
		if seen.parts(o.grant) || own[o.worker].parts(o.grant) {
			late = append(late, o)
		}
	}
	return late
}

// firstNewer is the earliest source that makes o stale.
func firstNewer(sources []*operation, o *operation, seqOnly bool) *operation {
	var best *operation
	for _, a := range sources {
		if !Parted(o.grant, a.grant) || !precedes(a, o) || seqOnly && !(a.numbered && o.numbered) {
			continue
		}
		if best == nil || precedes(a, best) {
			best = a
		}
	}
	return best
}

// sightings are the grants seen so far, as far as later ones have to know, by lock.
type sightings map[*lockOrder]front

func (s sightings) add(g *Grant) {
	f, seen := s[g.place.order]
	if !seen {
		f = noFront
	}
	s[g.place.order] = f.with(g)
}

// parts tells whether a newer grant that is parted from g was seen.
func (s sightings) parts(g *Grant) bool {
	f, seen := s[g.place.order]
	return seen && f.outdates(g)
}
