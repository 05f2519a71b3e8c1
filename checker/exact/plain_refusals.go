package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// OverFencing is rule 7 word for word: "A refusal is wrong if the operation sent its
// grant's own token or none, no other worker has a newer grant, the worker has not
// released (ok or info; a refused release is none), and its promise still stands." If
// the promise does not stand, nobody knows. Shared grants are left out.
func (p *Plain) OverFencing() PlainAnswer {
	var answer PlainAnswer
	for i := range p.h.Ops {
		o, g := &p.h.Ops[i], p.b.Own(i)
		if !o.ByWorker() || !o.F.OnResource() || !o.Fenced() || g == nil || p.shared(g) || o.Token.Known() && o.Token != g.Token {
			continue
		}
		newer := p.others(g, func(n *model.Grant) bool { return !p.older(n, g) && n.Invoke <= o.Return })
		if newer || p.releasedBefore(i, g, histories.Info) {
			continue
		}
		stood := p.stoodAll(g, o.Invoke, o.Return)
		answer.Invalid = answer.Invalid || stood
		answer.Uncertain = answer.Uncertain || !stood
	}
	return answer
}

// releasedBefore: was there a release of the grant before operation i, in line order,
// that was answered ok, or like that?
func (p *Plain) releasedBefore(i int, g *model.Grant, orLikeThat histories.Type) bool {
	for k := range i {
		if o := &p.h.Ops[k]; p.releases(k, g) && (o.Type == histories.OK || o.Type == orLikeThat) {
			return true
		}
	}
	return false
}

// stoodAll: at every moment some promise stood that had been answered. It can only
// cease to where one ends, and something ends one only where an operation begins.
func (p *Plain) stoodAll(g *model.Grant, from, to int64) bool {
	moments := []int64{from, to}
	for i := range p.h.Ops {
		moments = append(moments, p.h.Ops[i].Invoke)
	}
	for _, i := range p.promises(g) {
		moments = append(moments, p.end(g, i))
	}
	for _, t := range moments {
		stands := false
		for _, i := range p.promises(g) {
			stands = stands || p.h.Ops[i].Return <= t && p.given(g, i, t)
		}
		if from <= t && t <= to && !stands {
			return false
		}
	}
	return true
}
