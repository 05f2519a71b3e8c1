package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Belief is rule 10 word for word: "`held` is untrue when no promise stands and the end
// is on record (a release, an end line of its own, a newer grant of another worker);
// `lost` (or `held=false`) is untrue while a promise stands and nothing ended it."
func (p *Plain) Belief() PlainAnswer {
	var answer PlainAnswer
	for i := range p.h.Ops {
		o := &p.h.Ops[i]
		held, said := o.Held.Get()
		if !o.ByWorker() || o.Type != histories.OK || o.F != histories.Lost && (o.F != histories.Check || !said) {
			continue
		}
		g := p.b.Own(i)
		switch {
		case held && o.F == histories.Check && g == nil:
			untrue := p.refused(i)
			answer.Invalid, answer.Uncertain = answer.Invalid || untrue, answer.Uncertain || !untrue
		case held && o.F == histories.Check:
			untrue, uncertain := p.heldUntrue(g, i)
			answer.Invalid, answer.Uncertain = answer.Invalid || untrue, answer.Uncertain || uncertain
		case g != nil:
			answer.Invalid = answer.Invalid || p.lostUntrue(g, o)
		}
	}
	return answer
}

// refused: the worker had asked for the lock, and the answer was no each time.
func (p *Plain) refused(check int) bool {
	o, asked := &p.h.Ops[check], false
	for i := range check {
		a := &p.h.Ops[i]
		if a.F == histories.Acquire && a.Process == o.Process && a.Lock == o.Lock {
			if a.Type != histories.Fail {
				return false
			}
			asked = true
		}
	}
	return asked
}

func (p *Plain) heldUntrue(g *model.Grant, check int) (untrue, uncertain bool) {
	o, last := &p.h.Ops[check], -1
	for _, i := range p.promises(g) {
		if p.h.Ops[i].Invoke > o.Return {
			continue
		}
		if last < 0 || p.h.Ops[i].Invoke >= p.h.Ops[last].Invoke {
			last = i
		}
		// It may have stood at some moment of the check.
		if t := max(o.Invoke, p.h.Ops[i].Invoke); p.given(g, i, t) {
			return false, false
		}
	}
	since := p.h.Ops[last].Invoke
	known := p.ended(g, since, o.Invoke) || p.others(g, func(n *model.Grant) bool {
		return p.older(g, n) && n.Return >= since && n.Return < o.Invoke
	})
	for i := range check {
		r := &p.h.Ops[i]
		known = known || p.releases(i, g) && r.Type == histories.OK && r.Return >= since && r.Return <= o.Invoke
	}
	return known, !known
}

// lostUntrue: a promise stood from before the question until after the answer, and
// since it was asked for nothing is on record that may have ended it.
func (p *Plain) lostUntrue(g *model.Grant, o *histories.Operation) bool {
	if p.others(g, func(n *model.Grant) bool { return !p.older(n, g) && n.Invoke <= o.Return }) {
		return false
	}
	for _, i := range p.promises(g) {
		if p.h.Ops[i].Return < o.Invoke && p.given(g, i, o.Return) && !p.touched(g, p.h.Ops[i].Invoke, o.Return) {
			return true
		}
	}
	return false
}

// touched: the store may have ended a lease of the worker, or the nemesis killed it.
func (p *Plain) touched(g *model.Grant, from, to int64) bool {
	for i := range p.h.Ops {
		if overlaps(&p.h.Ops[i], from, to) && (p.byStore(i, g, histories.Expire) || p.byStore(i, g, histories.Revoke) || p.kills(i, g)) {
			return true
		}
	}
	return false
}
