package exact

import (
	"cmp"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// Tokens is what [TokenOrder] found out.
type Tokens struct {
	Checked int          // grants with a token, on locks that granted two at least
	Faults  []TokenFault // by the acquire of the later grant
}

// TokenFault is a grant whose token has no place beside that of an earlier one.
type TokenFault struct {
	Earlier, Later *model.Grant
	// Shared: one token for two workers. Otherwise the later token is the smaller
	// one, although its grant certainly came later.
	Shared bool
}

// TokenOrder judges the tokens of each lock: larger for every later grant; equal
// only for one worker with nobody else granted between; never one token for two
// workers.
//
// Two tests are enough: one token with two workers, and a token smaller than one
// that certainly came before. Two equal tokens of one worker with another's grant
// between them are never alone: the token between equals them, or is larger than
// the later or smaller than the earlier one.
//
// Grants in shared mode are left out: they may share a token.
func TokenOrder(b *model.Book) Tokens {
	var t Tokens
	for _, o := range b.Orders() {
		grants := exclusiveTokens(b, o.Grants)
		if len(grants) < 2 {
			continue
		}
		t.Checked += len(grants)
		t.Faults = append(t.Faults, tokenFaults(grants)...)
	}
	slices.SortStableFunc(t.Faults, func(a, b TokenFault) int { return cmp.Compare(a.Later.Acquire, b.Later.Acquire) })
	return t
}

// exclusiveTokens are the grants to be judged, by invocation.
func exclusiveTokens(b *model.Book, grants []*model.Grant) []*model.Grant {
	var list []*model.Grant
	for _, g := range grants {
		if g.Token.Known() && b.History.Ops[g.Acquire].Mode == "" {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, g *model.Grant) int { return cmp.Compare(a.Acquire, g.Acquire) })
	return list
}

// tokenFaults walks through the grants by invocation and knows the largest token
// that was answered before, and the largest one of each worker.
func tokenFaults(grants []*model.Grant) []TokenFault {
	var faults []TokenFault
	byReturn := slices.SortedStableFunc(slices.Values(grants), func(a, g *model.Grant) int { return cmp.Compare(a.Return, g.Return) })
	holders := map[int64]*tokenHolders{}
	own := map[string]*model.Grant{} // by worker: the one with the largest token
	var top *model.Grant
	done := 0
	for _, g := range grants {
		for ; done < len(byReturn) && byReturn[done].Return < g.Invoke; done++ {
			top = larger(top, byReturn[done])
		}
		token := g.Token.Or(0)
		if holders[token] == nil {
			holders[token] = &tokenHolders{}
		}
		other := holders[token].but(g)
		switch before := larger(top, own[g.Worker]); {
		case other != nil:
			faults = append(faults, TokenFault{Earlier: other, Later: g, Shared: true})
		case before != nil && before.Token.Or(0) > token:
			faults = append(faults, TokenFault{Earlier: before, Later: g})
		}
		own[g.Worker] = larger(own[g.Worker], g)
	}
	return faults
}

// tokenHolders are the first grant with a token, and the first one of another worker.
type tokenHolders struct{ first, second *model.Grant }

// but adds a grant, and returns one of another worker that was there before.
func (h *tokenHolders) but(g *model.Grant) *model.Grant {
	switch {
	case h.first == nil:
		h.first = g
		return nil
	case h.first.Worker != g.Worker:
		if h.second == nil {
			h.second = g
		}
		return h.first
	}
	return h.second
}

// larger is the grant with the larger token, the first of the two if they are equal.
func larger(a, g *model.Grant) *model.Grant {
	if a == nil || g != nil && g.Token.Or(0) > a.Token.Or(0) {
		return g
	}
	return a
}

// UselessTokens shows why the tokens of a lock are of no use as the order of its grants:
// a grant without one, or two whose tokens are at fault. It is empty if they are of use.
func UselessTokens(b *model.Book, lock string) []*model.Grant {
	var grants []*model.Grant
	for _, g := range b.Grants {
		if g.Lock != lock {
			continue
		}
		if !g.Token.Known() {
			return []*model.Grant{g}
		}
		grants = append(grants, g)
	}
	if faults := tokenFaults(grants); len(faults) > 0 {
		return []*model.Grant{faults[0].Earlier, faults[0].Later}
	}
	return nil
}
