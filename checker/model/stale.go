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
		if o.At == op {
			if first := firstNewer(sources, o, seqOnly); first != nil {
				return first.At
			}
		}
	}
	return -1
}

func places(list []*Operation) []int {
	var out []int
	for _, o := range list {
		out = append(out, o.At)
	}
	return out
}

// StaleRefused finds the writes of older grants that came after an accepted
// operation of a newer one, and that the resource refused: places in History.Ops. With
// seqOnly only the resource's own numbers count (see Question).
func (r *Resource) StaleRefused(seqOnly bool) []int {
	var refused []*Operation
	for i := range r.refused {
		if r.refused[i].Counted {
			refused = append(refused, &r.refused[i])
		}
	}
	return places(r.stale(r.touching(), refused, seqOnly))
}

// touching are the operations that raise the fence, if there is one.
func (r *Resource) touching() []*Operation {
	var list []*Operation
	for i := range r.ops {
		if r.ops[i].Counted && r.ops[i].Acked {
			list = append(list, &r.ops[i])
		}
	}
	return list
}

// stale lists the targets that certainly come after a source of a newer grant.
func (r *Resource) stale(sources, targets []*Operation, seqOnly bool) []*Operation {
	numbers, others := split(sources)
	numbered, unnumbered := split(targets)
	late := sweepNumbers(numbers, numbered)
	if !seqOnly {
		late = append(late, sweepTime(others, targets)...)
		late = append(late, sweepTime(numbers, unnumbered)...)
	}
	slices.SortFunc(late, func(a, b *Operation) int { return cmp.Compare(a.At, b.At) })
	return slices.Compact(late)
}

func split(list []*Operation) (numbered, unnumbered []*Operation) {
	for _, o := range list {
		if o.Numbered {
			numbered = append(numbered, o)
		} else {
			unnumbered = append(unnumbered, o)
		}
	}
	return numbered, unnumbered
}

// sweepNumbers goes through the numbers and remembers which grants were there.
func sweepNumbers(sources, targets []*Operation) (late []*Operation) {
	byNumber := func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(later(a), later(b)))
	}
	sources, targets = slices.Clone(sources), slices.Clone(targets)
	slices.SortStableFunc(sources, byNumber)
	slices.SortStableFunc(targets, byNumber)
	seen, done := sightings{}, 0
	for _, o := range targets {
		for ; done < len(sources) && Precedes(sources[done], o); done++ {
			seen.add(sources[done].Grant)
		}
		if seen.parts(o.Grant) {
			late = append(late, o)
		}
	}
	return late
}

// sweepTime goes through time: what was answered before an operation was invoked,
// and what its own worker did before it.
func sweepTime(sources, targets []*Operation) (late []*Operation) {
	byAnswer := slices.Clone(sources)
	slices.SortStableFunc(byAnswer, func(a, b *Operation) int { return cmp.Compare(a.Answer, b.Answer) })
	seen, done := sightings{}, 0
	own, begun := map[int32]sightings{}, 0
	for _, o := range targets { // by invocation, as the sources
		for ; done < len(byAnswer) && byAnswer[done].Answer < o.Invoke; done++ {
			seen.add(byAnswer[done].Grant)
		}
		for ; begun < len(sources) && sources[begun].At < o.At; begun++ {
			w := sources[begun].Worker
			if own[w] == nil {
				own[w] = sightings{}
			}
			own[w].add(sources[begun].Grant)
		}
		if seen.parts(o.Grant) || own[o.Worker].parts(o.Grant) {
			late = append(late, o)
		}
	}
	return late
}

// firstNewer is the earliest source that makes o stale.
func firstNewer(sources []*Operation, o *Operation, seqOnly bool) *Operation {
	var best *Operation
	for _, a := range sources {
		if !Parted(o.Grant, a.Grant) || !Precedes(a, o) || seqOnly && !(a.Numbered && o.Numbered) {
			continue
		}
		if best == nil || Precedes(a, best) {
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
