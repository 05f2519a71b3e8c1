package model

import (
	"cmp"
	"slices"
	"sort"
)

// bounds answers, for an unnumbered operation, which numbered ones enclose it.
type bounds struct {
	t        *task
	byAnswer []groupAt // numbered operations by answer, with the highest group so far
	byInvoke []groupAt // by invocation, with the lowest group from here on
	own      map[int32]*ownGroups
	none     int32 // "before nothing"
}

type groupAt struct {
	time  int64
	group int32
}

// ownGroups are one worker's numbered operations, in its own order.
type ownGroups struct {
	ops     []int32
	highest []int32 // group, over the first 1, 2, ... of them
}

func newBounds(t *task, g *groups) *bounds {
	b := &bounds{t: t, own: map[int32]*ownGroups{}, none: int32(len(g.members))}
	for _, i := range t.in {
		o := &t.ops[i]
		if !o.Numbered {
			continue
		}
		b.byAnswer = append(b.byAnswer, groupAt{o.Answer, g.of[i]})
		b.byInvoke = append(b.byInvoke, groupAt{o.Invoke, g.of[i]})
		own := b.own[o.Worker]
		if own == nil {
			own = &ownGroups{}
			b.own[o.Worker] = own
		}
		own.ops = append(own.ops, i)
		own.highest = append(own.highest, g.of[i])
	}
	byTime := func(x, y groupAt) int { return cmp.Compare(x.time, y.time) }
	slices.SortStableFunc(b.byAnswer, byTime)
	slices.SortStableFunc(b.byInvoke, byTime)
	for k := 1; k < len(b.byAnswer); k++ {
		b.byAnswer[k].group = max(b.byAnswer[k].group, b.byAnswer[k-1].group)
	}
	for k := len(b.byInvoke) - 2; k >= 0; k-- {
		b.byInvoke[k].group = min(b.byInvoke[k].group, b.byInvoke[k+1].group)
	}
	for _, own := range b.own {
		for k := 1; k < len(own.ops); k++ {
			own.highest[k] = max(own.highest[k], own.highest[k-1])
		}
	}
	return b
}

// of returns the highest group with an operation that precedes i (-1: none), and the
// lowest one with an operation that was invoked after i was answered (none: the
// number of groups). The worker's own order adds nothing to the latter: where times
// touch, the later operation needs i (see needUnnumbered).
func (b *bounds) of(i int32) (after, before int32) {
	after, before = -1, b.none
	o := &b.t.ops[i]
	if n := sort.Search(len(b.byAnswer), func(k int) bool { return b.byAnswer[k].time >= o.Invoke }); n > 0 {
		after = b.byAnswer[n-1].group
	}
	if own := b.own[o.Worker]; own != nil {
		if n := sort.Search(len(own.ops), func(k int) bool { return own.ops[k] > i }); n > 0 {
			after = max(after, own.highest[n-1])
		}
	}
	if !o.Acked {
		return after, before
	}
	if n := sort.Search(len(b.byInvoke), func(k int) bool { return b.byInvoke[k].time > o.Answer }); n < len(b.byInvoke) {
		before = b.byInvoke[n].group
	}
	return after, before
}
