package exact

import (
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// addGrants adds the order of parted grants (see [model.Parted]): a path from zone x
// to zone y through added nodes alone exists if and only if the grant of a counted
// operation of x is the older one, and parted from that of one of y.
//
// That is a relation between grants, not a rank: of a worker's grants a, b, c another
// worker's grant may lie between a and c and overlap b. Then a and c are parted, and
// b is nested with both.
func (s *Solver) addGrants(g *graph, zone zoning) {
	at := make([]int32, g.nodes) // scratch
	for _, list := range s.byLock(zone) {
		switch {
		case !slices.ContainsFunc(list, func(c counted) bool { return c.grant != list[0].grant }):
		case list[0].ByToken:
			addTokens(g, oneEach(list, at))
		default:
			addHolds(g, list)
		}
	}
}

// counted is an operation that the fence looks at.
type counted struct {
	node   int32
	worker int32
	grant  *model.Grant
	model.Neighbours
}

// byLock lists the counted operations of each lock, in their order.
func (s *Solver) byLock(zone zoning) [][]counted {
	var lists [][]counted
	place := map[string]int{}
	lock, at := "", -1 // of the last operation
	for i := range s.n {
		if !s.is(i, isCounted) || zone[i] < 0 {
			continue
		}
		o := &s.ops[i]
		if at < 0 || o.Grant.Lock != lock {
			k, seen := place[o.Grant.Lock]
			if !seen {
				k = len(lists)
				place[o.Grant.Lock] = k
				lists = append(lists, nil)
			}
			lock, at = o.Grant.Lock, k
		}
		lists[at] = append(lists[at], counted{zone[i], o.Worker, o.Grant, o.Grant.Neighbours()})
	}
	return lists
}

// addTokens: where tokens are usable, what is parted from a grant and newer is all
// from some place in the lock's order on. So the order of grants is a line. Each node
// is in the list once.
func addTokens(g *graph, list []counted) {
	keys, sources := make([]uint64, len(list)), make([]int32, len(list))
	for k := range list {
		keys[k], sources[k] = uint64(list[k].Pos), list[k].node
	}
	targets := slices.Clone(sources)
	sortByKey(targets, keys)
	enter := make([]int32, len(list))
	for k := range list {
		at, _ := slices.BinarySearch(keys, uint64(list[k].Newer))
		enter[k] = int32(at)
	}
	g.chain(targets, sources, enter)
}

// oneEach leaves one entry a node, with what matters of its operations: as a target
// the newest grant, as a source the oldest. at is by node, and 0 before and after.
func oneEach(list []counted, at []int32) []counted {
	out := make([]counted, 0, len(list)) // at: the place here, + 1
	for _, c := range list {
		k := at[c.node] - 1
		if k < 0 {
			out = append(out, c)
			at[c.node] = int32(len(out))
			continue
		}
		out[k].Pos, out[k].Newer = max(out[k].Pos, c.Pos), min(out[k].Newer, c.Newer)
	}
	for _, c := range out {
		at[c.node] = 0
	}
	return out
}
