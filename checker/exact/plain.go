package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Plain is the rules about grants word for word: every pair of grants and every
// operation is looked at, without a thought to cost. It shares nothing with the sweeps
// but the question which operation belongs to which grant, and is their certificate: an
// invalid verdict's few operations, as a history of their own, must be invalid here,
// too; and so must the whole of a small history, or valid.
//
// It takes time O(n^4) and worse, and is for histories of some fifty operations.
// It is not safe for use by several goroutines.
type Plain struct {
	b      *model.Book
	h      *histories.History
	tokens map[string]bool // by lock: usable as the order of grants
}

// PlainAnswer is what a rule says of a history: invalid if one case is, otherwise
// uncertain if there is one of which the history does not tell.
type PlainAnswer struct{ Invalid, Uncertain bool }

// NewPlain reads the rules over a history.
func NewPlain(b *model.Book) *Plain {
	return &Plain{b: b, h: b.History, tokens: map[string]bool{}}
}

func (p *Plain) op(g *model.Grant) *histories.Operation { return &p.h.Ops[g.Acquire] }

// others asks about every grant of another worker on the same lock.
func (p *Plain) others(g *model.Grant, yes func(*model.Grant) bool) bool {
	for _, o := range p.b.Grants {
		if o.Lock == g.Lock && o.Worker != g.Worker && !(p.shared(o) && p.shared(g)) && yes(o) {
			return true
		}
	}
	return false
}

func (p *Plain) shared(g *model.Grant) bool { return p.op(g).Mode != "" }

// Before, certainly: by real time, or because one worker did both.
func (p *Plain) before(a, g *model.Grant) bool {
	return a.Return < g.Invoke || a.Worker == g.Worker && a.Acquire < g.Acquire
}

// usable: every grant of the lock has a token, and no two are at fault.
func (p *Plain) usable(lock string) bool {
	usable, known := p.tokens[lock]
	if !known {
		usable = p.readTokens(lock)
		p.tokens[lock] = usable
	}
	return usable
}

func (p *Plain) readTokens(lock string) bool {
	for _, a := range p.b.Grants {
		if a.Lock != lock {
			continue
		}
		if !a.Token.Known() {
			return false
		}
		for _, g := range p.b.Grants {
			if g.Lock == lock && p.tokensAtFault(a, g) {
				return false
			}
		}
	}
	return true
}

// tokensAtFault: "Larger for every later grant; equal only for the same worker with
// nobody else granted between; never one token for two workers."
func (p *Plain) tokensAtFault(a, g *model.Grant) bool {
	if a == g || !a.Token.Known() || !g.Token.Known() {
		return false
	}
	if a.Token == g.Token && a.Worker != g.Worker {
		return true
	}
	if !p.before(a, g) || g.Token.Or(0) > a.Token.Or(0) {
		return false
	}
	if g.Token.Or(0) < a.Token.Or(0) {
		return true
	}
	for _, o := range p.b.Grants {
		if o.Lock == a.Lock && o.Worker != a.Worker && p.before(a, o) && p.before(o, g) {
			return true
		}
	}
	return false
}

// older: "By token, as long as the tokens agree with real time; otherwise by real time."
func (p *Plain) older(a, g *model.Grant) bool {
	if a == g || a.Lock != g.Lock {
		return false
	}
	if p.usable(a.Lock) && a.Token != g.Token {
		return a.Token.Or(0) < g.Token.Or(0)
	}
	return p.before(a, g)
}

// nested: "unless another worker's grant lies certainly between them: newer than the
// one and older than the other."
func (p *Plain) nested(a, g *model.Grant) bool {
	if a.Worker != g.Worker || a.Lock != g.Lock {
		return false
	}
	if a.Acquire > g.Acquire {
		a, g = g, a
	}
	for _, o := range p.b.Grants {
		if o.Worker != a.Worker && p.older(a, o) && p.older(o, g) {
			return false
		}
	}
	return true
}
