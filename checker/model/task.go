package model

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// task is one question about one resource, ready for Porcupine: the operations
// that matter, an interval for each, and what intervals can't say.
type task struct {
	*spec
	work
	r          *Resource
	in         []int32 // operations that take part, ascending
	call, ret  []int64 // by operation: its interval
	impossible bool    // an interval is empty: no order at all
	ranked     bool    // intervals are ranks, not times
	unready    bool    // the context ended before the question was ready, or it is too large
	marked     []int32 // by mark: the operation
	needed     int     // in needs, in all

	reads   [][]int32
	sources []int

	// lastRead is, by value, when its last read is over. From then on nobody can tell
	// whether a write of it happened: it would only overwrite and touch. Filled by useful.
	lastRead []int64
}

// newTask chooses the operations and gives them intervals.
//
// Porcupine knows one relation: an operation that returned before another was
// called comes first. What the history demands (precedes) is more, and partly
// something else, since numbers win over real time. So it is told in three ways.
//
// Without numbers, intervals are real time.
//
// With numbers, time is rank: a numbered operation is an instant, at the place of
// its number; an unnumbered one lies between the last numbered operation that must
// come before it and the first one that must come after it. That says everything
// between numbered and unnumbered operations, and nothing wrong: two unnumbered
// operations are apart in rank only if a numbered one must lie between them.
//
// What is left (the order of unnumbered operations among themselves, operations of
// one worker that touch in time, operations that share a number) is part of the
// specification: an operation needs others to have been taken before, which the
// state remembers in a set of marks. The set follows from which operations were
// taken, so it adds no state that the search would not have anyway.
func newTask(ctx context.Context, r *Resource, q Question) *task {
	t := &task{
		spec: newSpec(r, q), work: work{ctx: ctx}, r: r,
		call: make([]int64, len(r.ops)), ret: make([]int64, len(r.ops)),
	}
	t.unsure, t.mark, t.needs = make([]bool, len(r.ops)), make([]int32, len(r.ops)), make([][]int32, len(r.ops))
	for i := range t.mark {
		t.mark[i] = -1
	}
	t.reads, t.sources = r.readers()
	t.choose()
	if q.SeqOnly {
		t.seqAlone()
	} else {
		t.intervals()
	}
	t.endUnanswered()
	if t.unready = t.over || t.needed > maxNeeds; t.unready {
		return t
	}
	for _, i := range t.in {
		t.impossible = t.impossible || t.call[i] > t.ret[i]
	}
	t.start.placed = emptySet(len(t.marked))
	return t
}

// choose leaves out unanswered writes that nobody read: they would only overwrite
// and touch, nothing has to come after them, and no read names them. The same holds
// for all of them where values don't count. By numbers alone, an operation that has
// none and that no rule looks at says nothing, either.
func (t *task) choose() {
	for i := range t.ops {
		o := &t.ops[i]
		switch {
		case !o.Acked && (!t.Values || len(t.reads[o.Value]) == 0):
			continue
		case t.SeqOnly && !o.Numbered && !o.Counted:
			continue
		}
		// If nothing else can have written the value that was read, it happened.
		t.unsure[i] = !o.Acked && t.sources[o.Value] > 1
		if o.Write && o.Base >= 0 {
			t.uses[o.Base]++
		}
		t.in = append(t.in, int32(i))
	}
}

// endUnanswered ends the interval of an unanswered write that certainly happened
// with that of the first read of its value: the value says so, and a search with an
// operation that is open for ever is a long one. Where it is not certain, the
// interval has no end.
func (t *task) endUnanswered() {
	for _, i := range t.in {
		o := &t.ops[i]
		if o.Acked {
			continue
		}
		t.ret[i] = math.MaxInt64
		if t.unsure[i] {
			continue
		}
		for _, read := range t.reads[o.Value] {
			t.ret[i] = min(t.ret[i], t.ret[read])
		}
	}
}

// seqAlone: numbered operations at their numbers, the others anywhere.
func (t *task) seqAlone() {
	t.ranked = true
	g := t.group()
	for _, i := range t.in {
		if t.ops[i].Numbered {
			t.call[i], t.ret[i] = g.first(g.of[i]), g.last(g.of[i])
		} else {
			t.call[i], t.ret[i] = -1, math.MaxInt64
		}
	}
}

func (t *task) intervals() {
	g := t.group()
	if len(g.members) == 0 {
		for _, i := range t.in {
			t.call[i], t.ret[i] = t.ops[i].Invoke, t.ops[i].Answer
		}
	} else {
		t.ranked = true
		t.rank(g)
	}
	t.needUnnumbered(t.ranked)
}

// groups are the numbered operations by rank: a number's writes, then the rest of
// that number. The operations of a group are not ordered among themselves.
type groups struct {
	members [][]int32
	of      []int32 // by operation; -1: unnumbered
	offset  []int64 // of each group: the number of operations before it
}

// first and last are the bounds of a group's places. They are even; the odd numbers
// around them are left to what lies between groups.
func (g *groups) first(k int32) int64 { return 2 * g.offset[k] }
func (g *groups) last(k int32) int64  { return 2 * (g.offset[k] + int64(len(g.members[k])) - 1) }

func (t *task) group() *groups {
	g := &groups{of: make([]int32, len(t.ops))}
	var list []int32
	for _, i := range t.in {
		g.of[i] = -1
		if t.ops[i].Numbered {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.ops[a].Seq, t.ops[b].Seq), cmp.Compare(later(&t.ops[a]), later(&t.ops[b])))
	})
	for k, i := range list {
		if k == 0 || Precedes(&t.ops[list[k-1]], &t.ops[i]) {
			g.members = append(g.members, nil)
			g.offset = append(g.offset, int64(k))
		}
		last := len(g.members) - 1
		g.members[last] = append(g.members[last], i)
		g.of[i] = int32(last)
	}
	return g
}

// rank places all operations in rank time.
func (t *task) rank(g *groups) {
	cover := make([]int, len(g.members)+1) // differences: unnumbered operations that lie over a group
	bounds := newBounds(t, g)
	for _, i := range t.in {
		if t.done() {
			return
		}
		if t.ops[i].Numbered {
			continue
		}
		after, before := bounds.of(i)
		t.call[i], t.ret[i] = -1, math.MaxInt64
		from, to := 0, len(g.members)
		if after >= 0 {
			from = int(after) + 1
			if t.call[i] = g.last(after) + 1; !t.needMembers(g, i, after) {
				from, t.call[i] = int(after), g.first(after)
			}
		}
		if int(before) < len(g.members) {
			to = int(before)
			if t.ret[i] = g.first(before) - 1; !t.beforeMembers(g, i, before) {
				to, t.ret[i] = int(before)+1, g.last(before)
			}
		}
		to = t.readBy(g, i, to)
		if from < to {
			cover[from]++
			cover[to]--
		}
	}
	over := 0
	for k := range g.members {
		over += cover[k]
		t.placeGroup(g, int32(k), over == 0)
	}
}

// readBy bounds the groups that an unanswered write may lie over by the first
// numbered read of its value, as endUnanswered will do with its interval.
func (t *task) readBy(g *groups, i int32, to int) int {
	o := &t.ops[i]
	if o.Acked || t.unsure[i] {
		return to
	}
	for _, read := range t.reads[o.Value] {
		if t.ops[read].Numbered {
			to = min(to, int(g.of[read])+1)
		}
	}
	return to
}

// needMembers tells whether unnumbered operation i comes after all of a group. If it
// comes after some, it needs these one by one.
func (t *task) needMembers(g *groups, i, group int32) (all bool) {
	var some []int32
	for _, a := range g.members[group] {
		if t.done() {
			return true
		}
		if Precedes(&t.ops[a], &t.ops[i]) {
			some = append(some, a)
		}
	}
	if len(some) == len(g.members[group]) {
		return true
	}
	for _, a := range some {
		t.need(i, a)
	}
	return false
}

// beforeMembers tells whether unnumbered operation i comes before all of a group. If
// it comes before some, they will need it (see needUnnumbered).
func (t *task) beforeMembers(g *groups, i, group int32) bool {
	for _, o := range g.members[group] {
		if t.done() || !Precedes(&t.ops[i], &t.ops[o]) {
			return false
		}
	}
	return true
}

// placeGroup spreads the reads and opens of one number over instants of their own,
// in the order of their grants, if no other operation can come between: they leave
// the value alone and what they do commutes, but for the grants, whose order this
// is. So nothing is lost, and a hundred reads of one number cost a hundred steps
// instead of all their permutations.
func (t *task) placeGroup(g *groups, k int32, quiet bool) {
	list := g.members[k]
	if !quiet || t.ops[list[0]].Write {
		for _, i := range list {
			t.call[i], t.ret[i] = g.first(k), g.last(k)
		}
		return
	}
	slices.SortStableFunc(list, func(a, b int32) int { return compareGrants(t.ops[a].Grant, t.ops[b].Grant) })
	for n, i := range list {
		t.call[i] = g.first(k) + 2*int64(n)
		t.ret[i] = t.call[i]
	}
}

func compareGrants(a, b *Grant) int {
	switch {
	case a == b:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.place.pos, b.place.pos))
}

// maxNeeds bounds the memory of needs: where thousands of operations overlap, each
// of the next thousands needs them all.
const maxNeeds = 16 << 20

// need makes operation i legal only after operation a.
func (t *task) need(i, a int32) {
	if t.needed++; t.needed > maxNeeds {
		return
	}
	if t.mark[a] < 0 {
		t.mark[a] = int32(len(t.marked))
		t.marked = append(t.marked, a)
	}
	t.needs[i] = append(t.needs[i], t.mark[a])
}

// needUnnumbered adds what intervals do not say: that an operation comes after
// answered, unnumbered ones. In real time only the own worker's last one can be
// missing: closed intervals that touch are concurrent for Porcupine.
func (t *task) needUnnumbered(ranked bool) {
	last := map[int32]int32{} // by worker: its last answered, unnumbered operation so far
	for _, i := range t.in {
		o := &t.ops[i]
		if a, ok := last[o.Worker]; ok {
			t.needUnlessSaid(i, a)
		}
		if o.Acked && !o.Numbered {
			last[o.Worker] = i
		}
	}
	if ranked {
		t.needInTime()
	}
}

// needInTime: where intervals are ranks, an operation i needs the unnumbered ones
// that were answered before it was invoked. Those are enough that were not answered
// before another such operation was invoked: that one needs them already. They were
// all under way when the latest of them began, so there are never more than workers.
func (t *task) needInTime() {
	var byAnswer []int32
	for _, i := range t.in {
		if o := &t.ops[i]; o.Acked && !o.Numbered {
			byAnswer = append(byAnswer, i)
		}
	}
	slices.SortStableFunc(byAnswer, func(a, b int32) int { return cmp.Compare(t.ops[a].Answer, t.ops[b].Answer) })
	latest := make([]int64, len(byAnswer)) // invocation, over the first 1, 2, ... of them
	for k, a := range byAnswer {
		if latest[k] = t.ops[a].Invoke; k > 0 {
			latest[k] = max(latest[k], latest[k-1])
		}
	}
	done := 0
	for _, i := range t.in { // by invocation
		for done < len(byAnswer) && t.ops[byAnswer[done]].Answer < t.ops[i].Invoke {
			done++
		}
		for k := done - 1; k >= 0 && t.ops[byAnswer[k]].Answer >= latest[done-1]; k-- {
			if t.done() || t.needed > maxNeeds {
				return
			}
			t.needUnlessSaid(i, byAnswer[k])
		}
	}
}

// needUnlessSaid makes i need a, unless their intervals say that a comes first.
func (t *task) needUnlessSaid(i, a int32) {
	if t.ret[a] >= t.call[i] {
		t.need(i, a)
	}
}
