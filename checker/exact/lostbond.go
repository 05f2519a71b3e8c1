package exact

import "math"

// bond: cluster v comes after cluster u, and no firm cluster lies between them, or the
// write why lost an update.
//
// A write w of worker p is based on the read b, in cluster c (a bare base stands for
// itself). What lies between b and w must be p's own or unanswered. Those of p's
// acknowledged writes that lie there are known: y1 ... yk, in this order (see
// ownWrites). So nothing firm but these lies between, and the condition is one of
// pairs: c and y1, y1 and y2, ..., yk and w.
type bond struct{ u, v, why int32 }

// reading says how the constraints that are not exact are read.
type reading struct {
	// place of some open writes: how many of their worker's acknowledged writes they
	// follow, beyond those that they follow for certain.
	place map[int32]int32
	// strict: the other open writes come before their worker's next acknowledged write,
	// and no bare base lies inside a cluster. An order for a strict reading is one by
	// the rule itself. If not strict, the other open writes have no constraint, and bare
	// bases may lie anywhere between the firm writes around them: what has no order then
	// has none by the rule.
	strict bool
}

// constrains tells whether the reading has a constraint for write w, which has a base.
func (l *lost) constrains(how reading, w int32) bool {
	if how.strict {
		return true
	}
	_, placed := how.place[w]
	return l.ops[w].Acked || l.placing[w].places == 1 || placed
}

// bonds lists the pairs of a reading.
func (l *lost) bonds(how reading) []bond {
	b := bonds{lost: l, list: make([]bond, 0, 2*len(l.own.list)), need: make([]need, len(l.own.list))}
	for k := range b.need {
		b.need[k].from = math.MaxInt32
	}
	for _, w := range l.unanswered {
		if l.constrains(how, w) {
			b.unanswered(w, how.place[w])
		}
	}
	for worker := range l.own.start[1:] {
		b.acknowledged(int32(worker), how)
	}
	return b.list
}

type bonds struct {
	*lost
	list []bond
	need []need // by place in own.list
}

// need: all of a worker's acknowledged writes from the one with this number on, up to
// the one that has the need, follow each other, because of write why.
type need struct{ from, why int32 }

func (n *need) lower(from, why int32) {
	if from < n.from {
		*n = need{from, why}
	}
}

// unanswered adds the bonds of write w, which follows so many more of its worker's
// acknowledged writes than it must.
func (b *bonds) unanswered(w, more int32) {
	o := &b.ops[w]
	mine := b.own.of(o.Worker)
	from, to := b.own.before[o.Base], b.placing[w].follows+more-1
	ground := b.ground(o.Base)
	if to < from {
		b.list = append(b.list, bond{ground, w, w})
		return
	}
	b.list = append(b.list, bond{ground, mine[from], w}, bond{mine[to], w, w})
	b.need[b.own.start[o.Worker]+to].lower(from, w)
}

// acknowledged adds the bonds of one worker's acknowledged writes, from the last to
// the first: what the later ones need is known by then.
func (b *bonds) acknowledged(worker int32, how reading) {
	mine, start := b.own.of(worker), b.own.start[worker]
	needed, before := need{from: math.MaxInt32}, int32(-1)
	for k := int32(len(mine)) - 1; k >= 0; k-- {
		w := mine[k]
		needed.lower(b.need[start+k].from, b.need[start+k].why)
		if base := b.ops[w].Base; base >= 0 && b.constrains(how, w) {
			from := b.own.before[base]
			switch {
			case from > k: // numbers say that the base came later: no order has it before
				b.list = append(b.list, bond{w, w, w})
			case base != before: // or a later write said it already
				b.list = append(b.list, bond{b.ground(base), mine[from], w})
				before = base
			}
			needed.lower(from, w)
		}
		if needed.from < k {
			b.list = append(b.list, bond{mine[k-1], w, needed.why})
		}
	}
}
