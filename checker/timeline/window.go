package timeline

import (
	"cmp"
	"slices"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// firstFocus is what the page shows when it opens: the first story, else the
// first seconds.
func firstFocus(x *index, r checker.Result, stories []Story) Focus {
	if len(stories) > 0 {
		s := stories[0]
		return Focus{Lock: s.Lock, Begin: s.Begin, End: s.End}
	}
	f := Focus{End: min(x.end, 5e9)}
	if len(x.locks) > 0 {
		f.Lock = x.locks[0].Name
	}
	for _, t := range r.Coverage.Trials {
		return Focus{Lock: text(t.Lock), Begin: t.StoppedNS, End: t.ContinuedNS}
	}
	return f
}

// far is the handicap of an operation on a lock that no story is about.
const far = int64(1) << 61

// chooseOps picks at most MaxOps operations, the most telling first: those that
// a story names, then those nearest in time to a story on its lock, then others.
func chooseOps(x *index, stories []Story, focus Focus) []int {
	named := map[int]bool{}
	spans := map[string][]Focus{focus.Lock: {focus}}
	for _, s := range stories {
		for _, i := range s.Ops {
			named[i] = true
		}
		spans[s.Lock] = append(spans[s.Lock], Focus{s.Lock, s.Begin, s.End})
	}
	type candidate struct {
		place    int
		distance int64
	}
	all := make([]candidate, len(x.h.Ops))
	for i := range x.h.Ops {
		all[i] = candidate{i, -1}
		if !named[i] {
			all[i].distance = x.distance(i, spans, focus)
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.place, b.place))
	})
	all = all[:min(len(all), MaxOps)]
	places := make([]int, len(all))
	for i, c := range all {
		places[i] = c.place
	}
	return places
}

// distance is how far in time an operation is from the nearest story on its lock.
func (x *index) distance(i int, spans map[string][]Focus, focus Focus) int64 {
	op := &x.h.Ops[i]
	near, known := spans[text(x.lockOf[i])]
	if !known {
		near = []Focus{focus}
	}
	d := far
	for _, f := range near {
		d = min(d, max(f.Begin-x.until(op), op.Invoke-f.End, 0))
	}
	if !known && op.Process != histories.Nemesis {
		d += far
	}
	return d
}

// nearest keeps at most maxSpans bars, those nearest to the focus.
func nearest[T any](all []T, focus Focus, span func(T) (lock string, begin, end int64)) []T {
	if len(all) <= maxSpans {
		return all
	}
	distance := func(one T) int64 {
		lock, begin, end := span(one)
		d := min(max(focus.Begin-end, begin-focus.End, 0), far)
		if lock != "" && lock != focus.Lock {
			d += far
		}
		return d
	}
	kept := slices.Clone(all)
	slices.SortStableFunc(kept, func(a, b T) int { return cmp.Compare(distance(a), distance(b)) })
	kept = kept[:maxSpans]
	slices.SortStableFunc(kept, func(a, b T) int {
		_, p, _ := span(a)
		_, q, _ := span(b)
		return cmp.Compare(p, q)
	})
	return kept
}
