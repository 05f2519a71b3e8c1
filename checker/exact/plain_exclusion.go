package exact

import "github.com/leasehold-checker/leasehold/checker/model"

// Exclusion is rule 5 word for word.
func (p *Plain) Exclusion() PlainAnswer {
	for _, a := range p.b.Grants {
		if p.others(a, func(g *model.Grant) bool { return p.broken(a, g) }) {
			return PlainAnswer{Invalid: true}
		}
	}
	return PlainAnswer{}
}

// broken: "If two overlapping acquires cannot be ordered, both orders must be
// impossible."
func (p *Plain) broken(a, g *model.Grant) bool {
	switch {
	case p.older(a, g):
		return p.brokenIfFirst(a, g)
	case p.older(g, a):
		return p.brokenIfFirst(g, a)
	}
	return p.brokenIfFirst(a, g) && p.brokenIfFirst(g, a)
}

// brokenIfFirst: if a was granted before g, is a promise broken?
func (p *Plain) brokenIfFirst(a, g *model.Grant) bool {
	for _, i := range p.promises(a) {
		if p.given(a, i, g.Return) {
			return true
		}
	}
	for _, r := range p.promises(a)[1:] {
		renewal := &p.h.Ops[r]
		if renewal.Invoke <= g.Return || p.released(a, r, renewal.Return) { // the latter: it was giving it up
			continue
		}
		for _, q := range p.promises(g) {
			if p.h.Ops[q].Return <= renewal.Invoke && p.given(g, q, renewal.Return) {
				return true
			}
		}
	}
	return false
}

// TokenOrder is rule 6 word for word. It leaves shared grants out, of which the rule
// says nothing.
func (p *Plain) TokenOrder() PlainAnswer {
	for _, a := range p.b.Grants {
		for _, g := range p.b.Grants {
			if a == g || a.Lock != g.Lock || p.shared(a) || p.shared(g) || !a.Token.Known() || !g.Token.Known() {
				continue
			}
			twoWorkers := a.Token == g.Token && a.Worker != g.Worker
			smaller := p.before(a, g) && g.Token.Or(0) < a.Token.Or(0)
			if twoWorkers || smaller || !p.anyShared(a.Lock) && p.tokensAtFault(a, g) {
				return PlainAnswer{Invalid: true}
			}
		}
	}
	return PlainAnswer{}
}

func (p *Plain) anyShared(lock string) bool {
	for _, g := range p.b.Grants {
		if g.Lock == lock && p.shared(g) {
			return true
		}
	}
	return false
}
