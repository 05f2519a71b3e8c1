package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
)

// LiveGrant is rule 9 word for word: "Invalid if the lease of an ok acquire had ended
// before the answer (an end line of its own inside the acquire, or a newer legal grant
// of another worker answered earlier). A late answer alone proves nothing. A renewal
// invoked after such an end and answered ok is the same fault."
func (p *Plain) LiveGrant() PlainAnswer {
	for _, g := range p.b.Grants {
		if p.deadOnArrival(g) || p.renewedDead(g) {
			return PlainAnswer{Invalid: true}
		}
	}
	return PlainAnswer{}
}

func (p *Plain) deadOnArrival(g *model.Grant) bool {
	return p.ended(g, g.Invoke+1, g.Return) || p.others(g, func(o *model.Grant) bool {
		return o.Return < g.Return && !p.broken(g, o) && (p.older(g, o) || !p.older(o, g) && p.stands(o, g.Return))
	})
}

// stands: a promise that was answered by t stands then.
func (p *Plain) stands(g *model.Grant, t int64) bool {
	for _, i := range p.promises(g) {
		if p.h.Ops[i].Return <= t && p.given(g, i, t) {
			return true
		}
	}
	return false
}

func (p *Plain) renewedDead(g *model.Grant) bool {
	promises := p.promises(g)
	for k, i := range promises[1:] {
		r := &p.h.Ops[i]
		if p.released(g, i, r.Return) { // it was giving the grant up
			continue
		}
		if p.ended(g, p.h.Ops[promises[k]].Invoke, r.Invoke) || p.others(g, func(o *model.Grant) bool {
			return p.older(g, o) && o.Return < r.Invoke && !p.broken(g, o)
		}) {
			return true
		}
	}
	return false
}
