package model

import "encoding/binary"

// front is what grants of one lock have to know of those that touched a resource,
// to tell whether they may still act: three places in the lock's order. The touched
// grants themselves need not be remembered.
//
// With usable tokens, the newest one is enough (see Parted). Without, grants are
// ordered by real time, and those of one worker are nested until another worker's
// grant lies certainly between. For a grant a of another worker than the newest, the
// newest one says all: whatever parts a from an earlier one, its own worker's
// included, lies before the newest. For a grant of the newest one's worker there are
// two ways to be outdated:
//
//   - by another worker's grant: the latest of those says all (rival);
//   - by its own worker's, if a grant of another worker lies between: the newest one
//     says all, unless it has the same token as a, which never parts two grants of
//     one worker. Then the latest of its worker with another token does (twin). If
//     that one is older than the rival, the rival says it, too, and twin is not kept.
//
// So a front is a function of the set of touched grants, whatever their order.
type front struct{ newest, rival, twin int32 } // -1: none

var noFront = front{-1, -1, -1}

// with is the front after g, too, touched the resource.
func (f front) with(g *Grant) front {
	o, at := g.place.order, int32(g.place.pos)
	switch {
	case f.newest < 0:
		return front{at, -1, -1}
	case o.tokens:
		f.newest = max(f.newest, at)
		return f
	case at == f.newest:
		return f
	}
	newest := o.grants[f.newest]
	mine, same := g.Worker == newest.Worker, sameToken(g, newest)
	switch {
	case at > f.newest && !mine:
		return front{at, f.newest, -1}
	case at > f.newest && same:
		f.newest = at
	case at > f.newest:
		f.newest, f.twin = at, f.newest
	case !mine:
		if f.rival = max(f.rival, at); f.twin < f.rival {
			f.twin = -1
		}
	case !same && at > f.rival:
		f.twin = max(f.twin, at)
	}
	return f
}

// outdates tells whether a touched grant is newer than a and parted from it.
func (f front) outdates(a *Grant) bool {
	if f.newest < 0 {
		return false
	}
	newest := a.place.order.grants[f.newest]
	switch {
	case a.place.order.tokens || a.Worker != newest.Worker:
		return int(f.newest) >= a.place.newer
	case int(f.rival) >= a.place.newer:
		return true
	case sameToken(a, newest):
		return int(f.twin) >= a.place.nested
	}
	return int(f.newest) >= a.place.nested
}

// Fronts of further locks stand one after the other in a string, twelve bytes each.
const frontBytes = 12

func manyFronts(n int) string {
	var list []byte
	for range n {
		list = noFront.append(list)
	}
	return string(list)
}

func (f front) append(list []byte) []byte {
	for _, place := range []int32{f.newest, f.rival, f.twin} {
		list = binary.BigEndian.AppendUint32(list, uint32(place))
	}
	return list
}

// of is the front of a lock.
func (st *State) of(slot int32) front {
	if slot == 0 {
		return st.front
	}
	at := int(slot-1) * frontBytes
	place := func(k int) int32 { return int32(binary.BigEndian.Uint32([]byte(st.fronts[at+4*k : at+4*k+4]))) }
	return front{place(0), place(1), place(2)}
}

// touch is the state after a grant touched the resource.
func (st State) touch(slot int32, g *Grant) State {
	f := st.of(slot).with(g)
	if slot == 0 {
		st.front = f
		return st
	}
	at := int(slot-1) * frontBytes
	list := append(make([]byte, 0, len(st.fronts)), st.fronts[:at]...)
	st.fronts = string(append(f.append(list), st.fronts[at+frontBytes:]...))
	return st
}
