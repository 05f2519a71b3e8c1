package exact

import (
	"slices"
	"sort"
)

// claim is a promise of a grant, and until when it stands.
type claim struct {
	hold  *hold // nil: no claim
	place int   // in hold.promises
	until int64
}

func (c claim) promise() *promise { return &c.hold.promises[c.place] }

// index answers, of the claims at keys up to a given one: which stands longest, but
// for those of the asking worker? A shared grant asks for exclusive claims alone,
// since shared grants may stand side by side.
type index struct {
	all, exclusive *reach // one and the same if no grant is shared
}

// newIndex expects what it will be handed with add.
func newIndex(holds []*hold, key func(*hold, *promise) int64) *index {
	var keys []int64
	shared := false
	for _, h := range holds {
		shared = shared || h.shared
		for k := range h.promises {
			keys = append(keys, key(h, &h.promises[k]))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	x := &index{all: newReach(keys)}
	if x.exclusive = x.all; shared {
		x.exclusive = newReach(keys)
	}
	return x
}

func (x *index) add(key int64, c claim) {
	x.all.add(key, c)
	if x.exclusive != x.all && !c.hold.shared {
		x.exclusive.add(key, c)
	}
}

func (x *index) longest(key int64, asking *hold) claim {
	if asking.shared {
		return x.exclusive.longest(key, asking.Worker)
	}
	return x.all.longest(key, asking.Worker)
}

// reach is a Fenwick tree of the longest claims. Each node keeps the best one of
// two workers, so that one worker can be left out.
type reach struct {
	keys []int64
	tree []bestTwo
}

type bestTwo struct{ first, second claim } // of different workers

func newReach(keys []int64) *reach { return &reach{keys: keys, tree: make([]bestTwo, len(keys)+1)} }

func (b *bestTwo) offer(c claim) {
	switch {
	case b.first.hold == nil:
		b.first = c
	case b.first.hold.Worker == c.hold.Worker:
		if c.until > b.first.until {
			b.first = c
		}
	case c.until > b.first.until:
		b.first, b.second = c, b.first
	case b.second.hold == nil || c.until > b.second.until:
		b.second = c
	}
}

func (r *reach) add(key int64, c claim) {
	for i := sort.Search(len(r.keys), func(k int) bool { return r.keys[k] >= key }) + 1; i < len(r.tree); i += i & -i {
		r.tree[i].offer(c)
	}
}

func (r *reach) longest(key int64, but string) claim {
	var best claim
	for i := sort.Search(len(r.keys), func(k int) bool { return r.keys[k] > key }); i > 0; i -= i & -i {
		c := r.tree[i].first
		if c.hold != nil && c.hold.Worker == but {
			c = r.tree[i].second
		}
		if c.hold != nil && (best.hold == nil || c.until > best.until) {
			best = c
		}
	}
	return best
}
