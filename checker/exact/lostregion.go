package exact

import (
	"math"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// Regions are runs of the order at hand, which explains the values. If no cut has a
// base before it and its write behind it, and no cluster lies across, then
//
//   - a region that is illegal by itself is a proof that the whole is;
//   - orders of all regions, one after the other, are an order of the whole: what
//     stands in different regions stands as the order at hand has it.
//
// So open writes are placed region by region, which is a small question each, instead
// of all at once.
//
// Where every write is based on the value of the one before, there is no place between
// clusters without such a base. So a cut is made at a firm write that is alone at its
// time: it closes one region and opens the next. Such a write is the last firm one in
// every order of the first region, and the first in every order of the second: the
// two fit, and if they do not (numbers may say something else than times), the replay
// tells.

// smallRegion is how many operations a region has at least.
const smallRegion = 256

// regions cuts the order at hand into regions of so many operations at least. Two that
// follow each other share the write at the cut.
func (l *lost) regions(least int) [][]int32 {
	cuttable := l.cuttable()
	var out [][]int32
	from := 0
	for k := range l.order {
		if k-from >= least && cuttable[k] {
			out = append(out, l.order[from:k+1:k+1])
			from = k
		}
	}
	return append(out, l.order[from:])
}

// cuttable tells, by place in the order at hand, where firm writes stand that are
// alone at their time, and over which no write reaches back to its base.
func (l *lost) cuttable() []bool {
	at := make([]int32, l.n)
	for k, i := range l.order {
		at[i] = int32(k)
	}
	reach := make([]int32, len(l.order)) // by place of a base: the last place of a write based on it
	for _, i := range l.order {
		if b := l.ops[i].Base; b >= 0 {
			reach[at[b]] = max(reach[at[b]], at[i])
		}
	}
	out := make([]bool, len(l.order))
	furthest, latest, answered := int32(0), int64(-1), int64(-1) // latest of the first answers of all clusters before; first answer of this one
	for k, i := range l.order {
		o := &l.ops[i]
		if o.Write {
			latest, answered = max(latest, answered), math.MaxInt64
			out[k] = o.Acked && latest < o.Invoke && furthest <= int32(k)
		}
		if l.isCluster(l.zone[i]) {
			answered = min(answered, o.Answer)
		}
		furthest = max(furthest, reach[k])
	}
	earliest, invoked := int64(math.MaxInt64), int64(-1) // the same from behind, with last invocations
	for k, i := range slices.Backward(l.order) {
		o := &l.ops[i]
		if l.isCluster(l.zone[i]) {
			invoked = max(invoked, o.Invoke)
		}
		if o.Write {
			out[k] = out[k] && o.Answer < earliest
			earliest, invoked = min(earliest, invoked), -1
		}
	}
	return out
}

// byRegion decides region by region. It is Undecided if a region is, or if their
// orders do not fit.
func (l *lost) byRegion(regions [][]int32) (model.Decision, finder) {
	whole, doubt := make([]int32, 0, len(l.order)), ""
	for k, region := range regions {
		ops := slices.Sorted(slices.Values(region))
		if len(l.missingBases(ops)) > 0 { // a base that comes after its write, by number
			return undecided(noFit), nil
		}
		part := l.only(ops)
		order, _ := part.find(l.ctx, rules{Question: model.Question{Values: true}, in: part.happened})
		if order == nil {
			return undecided(outOfTime), nil
		}
		small := newLost(l.ctx, part, order)
		small.budget = l.budget
		answer, find := small.decide()
		switch answer.Answer {
		case model.Illegal:
			return answer, func() []int32 { return pick(ops, find()) }
		case model.Undecided:
			doubt = answer.Why
			continue
		}
		last := region[len(region)-1]
		for _, i := range pick(ops, answer.Order) {
			if i != last || k == len(regions)-1 {
				whole = append(whole, i)
			}
		}
	}
	switch {
	case doubt != "":
		return undecided(doubt), nil
	case !l.replays(whole):
		return undecided(noFit), nil
	}
	return legal(whole), nil
}

// pick lists the elements of ops at some places.
func pick(ops, places []int32) []int32 {
	out := make([]int32, len(places))
	for k, p := range places {
		out[k] = ops[p]
	}
	return out
}
