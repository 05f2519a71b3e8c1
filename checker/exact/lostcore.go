package exact

import (
	"context"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// proof is a part of the operations that grows until it has no order by itself, and
// then shrinks for as long as it has none.
type proof struct {
	*Solver
	ctx  context.Context
	in   []bool // by operation
	left int    // operations of parts that may still be looked at
}

// mostWork bounds what is spent on making a core small. One that can't be made small
// (a run of a thousand writes, each based on the one before, beside a write that fits
// nowhere between them) is as good a proof.
const mostWork = 2 << 20

// mostRounds bounds how far around the zones of a walk is looked.
const mostRounds = 4

// core finds few operations that have no order by themselves: those of the zones on
// the walks, and what made the bonds between them. If that is not enough, more of
// what is around them is taken in, at last everything. It is nil if nothing is known of
// everything.
func (l *lost) core(walks []attempt) []int32 {
	p := proof{l.Solver, l.ctx, make([]bool, l.n), mostWork}
	zones := map[int32]bool{}
	for _, a := range walks {
		for _, v := range a.walk {
			zones[v] = true
		}
	}
	for range mostRounds {
		for v := range zones {
			p.add(l.edges(v)...)
		}
		p.addBonds(l, walks, zones)
		if part := p.sound(); p.lacksOrder(part) {
			return p.shrinkLost(part)
		}
		for i, in := range p.in {
			if in {
				zones[l.zone[i]] = true
			}
		}
		for v := range zones {
			p.add(l.members(v)...)
		}
	}
	if l.own.unordered {
		return nil
	}
	copy(p.in, l.happened)
	return p.shrinkLost(p.sound())
}

// coreOfValues makes a core of operations whose values no order explains: no write
// may have another base among them than in the whole.
func (s *Solver) coreOfValues(ctx context.Context, core []int32) []int32 {
	if len(s.missingBases(core)) == 0 {
		return core
	}
	p := proof{s, ctx, make([]bool, s.n), mostWork}
	p.add(core...)
	return p.shrinkLost(p.sound())
}

func (p *proof) add(ops ...int32) {
	for _, i := range ops {
		p.in[i] = true
	}
}

// addBonds adds the bonds that touch some zones: their writes, and the writes because
// of which they are, with their bases.
func (p *proof) addBonds(l *lost, walks []attempt, zones map[int32]bool) {
	for _, a := range walks {
		for _, b := range a.bonds {
			if !zones[b.u] && !zones[b.v] {
				continue
			}
			for _, i := range []int32{b.u, b.v, b.why, l.ops[b.why].Base} {
				if i >= 0 && i < l.n { // n is the initial value
					p.in[i] = true
				}
			}
		}
	}
}

// sound is the part with all that it needs to be illegal only if the whole is: every
// read brings its write, every unanswered write a read that proves it, and every write
// that would be based on an earlier read its own base. (A write without any base
// overwrites knowingly, which is always allowed.)
func (p *proof) sound() []int32 {
	for {
		var part []int32
		for i, in := range p.in {
			if in {
				part = append(part, int32(i))
			}
		}
		part = p.closed(part)
		missing := p.missingBases(part)
		if len(missing) == 0 {
			return part
		}
		p.add(part...)
		p.add(missing...)
	}
}

// missingBases lists, for a part (ascending), the bases of writes that would have
// another base in it.
func (s *Solver) missingBases(part []int32) []int32 {
	var missing []int32
	last := map[*model.Grant]int32{} // its last read; a grant has one worker
	for _, i := range part {
		o := &s.ops[i]
		if o.Read && o.Grant != nil {
			last[o.Grant] = i
		} else if base, found := last[o.Under]; found && o.Write && o.Under != nil && base != o.Base {
			missing = append(missing, o.Base)
		}
	}
	return missing
}

// lacksOrder tells whether a part (ascending) is sound and has no order.
func (p *proof) lacksOrder(part []int32) bool {
	if len(part) == 0 || len(p.missingBases(part)) > 0 {
		return false
	}
	s := p.only(part)
	if s.origin.orphan >= 0 {
		return true
	}
	order, stuck := s.find(p.ctx, rules{Question: model.Question{Values: true}, in: s.happened})
	if order == nil {
		return stuck != nil
	}
	answer, _ := newLost(p.ctx, s, order).decide()
	return answer.Answer == model.Illegal
}

// shrinkLost leaves out operations, first many at a time, then one by one.
func (p *proof) shrinkLost(part []int32) []int32 {
	for size := max(1, len(part)/2); size >= 1; {
		dropped := false
		for at := 0; at < len(part); {
			if p.left -= len(part); p.left < 0 {
				return part
			}
			less := p.open(slices.Concat(part[:at], part[min(at+size, len(part)):]))
			if p.lacksOrder(less) {
				part, dropped = less, true
			} else {
				at += size
			}
		}
		if !dropped || size > 1 {
			size /= 2
		}
	}
	return part
}
