package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Hold is rule 8 word for word: "Accepted writes and opens (reads only if they name a
// token or grant): after an ok acquire of that worker, before it invokes a release that
// is answered ok, with that grant's own token, decided under that grant; equal tokens of
// one worker count as one grant." What may have been accepted, or released, is uncertain.
func (p *Plain) Hold() PlainAnswer {
	var answer PlainAnswer
	for i := range p.h.Ops {
		o := &p.h.Ops[i]
		if !o.ByWorker() || !o.F.OnResource() || o.Type == histories.Fail || p.b.Lock(i) == "" ||
			o.F == histories.Read && !o.Token.Known() && o.Grant == "" {
			continue
		}
		g := p.b.Own(i)
		fault, maybe := g == nil, false
		if g != nil {
			kin := p.oneToken(g, i)
			fault = all(kin, func(k *model.Grant) bool { return p.releasedBefore(i, k, histories.OK) })
			maybe = all(kin, func(k *model.Grant) bool { return p.releasedBefore(i, k, histories.Info) })
			under := p.b.Under(i)
			fault = fault || o.Token.Known() && o.Token != g.Token ||
				o.F == histories.Write && (under == nil || under != g && !p.sameToken(under, g))
		}
		answer.Invalid = answer.Invalid || fault && o.Type == histories.OK
		answer.Uncertain = answer.Uncertain || fault || maybe
	}
	return answer
}

// oneToken are the grants before operation i that count as one with g, itself among
// them.
func (p *Plain) oneToken(g *model.Grant, i int) []*model.Grant {
	var list []*model.Grant
	for _, k := range p.b.Grants {
		if k == g || k.Acquire < i && p.sameToken(k, g) {
			list = append(list, k)
		}
	}
	return list
}

func (p *Plain) sameToken(a, g *model.Grant) bool {
	return a.Worker == g.Worker && a.Lock == g.Lock && a.Token.Known() && a.Token == g.Token
}

func all(list []*model.Grant, yes func(*model.Grant) bool) bool {
	for _, g := range list {
		if !yes(g) {
			return false
		}
	}
	return true
}
