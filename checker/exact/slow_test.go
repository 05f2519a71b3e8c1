package exact_test

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// slow is the two rules word for word, every pair of grants looked at, without a
// thought to cost: what the sweeps are compared with.
type slow struct {
	b *model.Book
	h *histories.History
}

func (s slow) op(g *model.Grant) *histories.Operation { return &s.h.Ops[g.Acquire] }

// before: certainly, by real time or because one worker did both.
func (s slow) before(a, g *model.Grant) bool {
	return a.Return < g.Invoke || a.Worker == g.Worker && a.Acquire < g.Acquire
}

// tokensUsable: every grant of the lock has a token, and no two are at fault.
func (s slow) tokensUsable(lock string) bool {
	for _, a := range s.b.Grants {
		if a.Lock != lock {
			continue
		}
		if !a.Token.Known() {
			return false
		}
		for _, g := range s.b.Grants {
			if g.Lock == lock && s.tokensAtFault(a, g) {
				return false
			}
		}
	}
	return true
}

// tokensAtFault: "Larger for every later grant; equal only for the same worker with
// nobody else granted between; never one token for two workers."
func (s slow) tokensAtFault(a, g *model.Grant) bool {
	if a == g || !a.Token.Known() || !g.Token.Known() {
		return false
	}
	if a.Token == g.Token && a.Worker != g.Worker {
		return true
	}
	if !s.before(a, g) || g.Token.Or(0) > a.Token.Or(0) {
		return false
	}
	if g.Token.Or(0) < a.Token.Or(0) {
		return true
	}
	for _, o := range s.b.Grants {
		if o.Lock == a.Lock && o.Worker != a.Worker && s.before(a, o) && s.before(o, g) {
			return true
		}
	}
	return false
}

// tokenOrder leaves shared grants out, as the rule says nothing about them.
func (s slow) tokenOrder() (invalid bool) {
	for _, a := range s.b.Grants {
		for _, g := range s.b.Grants {
			if a.Lock != g.Lock || s.op(a).Mode != "" || s.op(g).Mode != "" {
				continue
			}
			if a != g && a.Token.Known() && a.Token == g.Token && a.Worker != g.Worker ||
				s.before(a, g) && a.Token.Known() && g.Token.Known() && g.Token.Or(0) < a.Token.Or(0) {
				invalid = true
			}
			if !s.anyShared(a.Lock) && s.tokensAtFault(a, g) {
				invalid = true
			}
		}
	}
	return invalid
}

func (s slow) anyShared(lock string) bool {
	for _, g := range s.b.Grants {
		if g.Lock == lock && s.op(g).Mode != "" {
			return true
		}
	}
	return false
}

// older: "By token, as long as the tokens agree with real time; otherwise by real time."
func (s slow) older(a, g *model.Grant) bool {
	if a == g || a.Lock != g.Lock {
		return false
	}
	if s.tokensUsable(a.Lock) && a.Token != g.Token {
		return a.Token.Or(0) < g.Token.Or(0)
	}
	return s.before(a, g)
}

// nested: "unless another worker's grant lies certainly between them: newer than the
// one and older than the other."
func (s slow) nested(a, g *model.Grant) bool {
	if a.Worker != g.Worker || a.Lock != g.Lock {
		return false
	}
	if a.Acquire > g.Acquire {
		a, g = g, a
	}
	for _, o := range s.b.Grants {
		if o.Worker != a.Worker && s.older(a, o) && s.older(o, g) {
			return false
		}
	}
	return true
}

// promises are the ok acquire and renewals of a grant: places in Ops.
func (s slow) promises(g *model.Grant) []int {
	var list []int
	for i := range s.h.Ops {
		o := &s.h.Ops[i]
		if s.b.Own(i) == g && o.Type == histories.OK && (o.F == histories.Acquire || o.F == histories.Renew) {
			list = append(list, i)
		}
	}
	return list
}

// end is the promise's invocation plus ttl; histories.Never without one.
func (s slow) end(g *model.Grant, promise int) int64 {
	ttl := s.op(g).TTLAsked
	if s.op(g).TTL > 0 {
		ttl = s.op(g).TTL
	}
	o := &s.h.Ops[promise]
	if o.TTLAsked > 0 {
		ttl = o.TTLAsked
	}
	if o.TTL > 0 {
		ttl = o.TTL
	}
	if ttl == 0 {
		return histories.Never
	}
	return o.Invoke + ttl*1e6
}

// overlaps: may the operation have taken effect in [from, to]?
func overlaps(o *histories.Operation, from, to int64) bool {
	return o.Type != histories.Fail && o.Invoke <= to && (o.Type == histories.Info || o.Return >= from)
}

// excused: did anything that excuses end the grant's promise between its invocation
// and t?
func (s slow) excused(g *model.Grant, promise int, t int64) bool {
	from := s.h.Ops[promise].Invoke
	timeless := s.op(g).EffectiveTTL() == 0
	for i := range s.h.Ops {
		o := &s.h.Ops[i]
		if !overlaps(o, from, t) {
			continue
		}
		switch {
		case o.Process == histories.Store && o.F == histories.Revoke && o.Lock == g.Lock && o.Target == g.Worker,
			timeless && o.Process == histories.Store && o.F == histories.Expire && o.Lock == g.Lock && o.Target == g.Worker,
			timeless && o.Process == histories.Nemesis && o.F == histories.Kill && o.Target == g.Worker:
			return true
		}
	}
	return s.released(g, promise, t)
}

// released: may a release by its own worker have ended the grant in that time?
func (s slow) released(g *model.Grant, promise int, t int64) bool {
	for i := range s.h.Ops {
		o := &s.h.Ops[i]
		named := s.b.Own(i)
		if o.F != histories.Release || named == nil || !overlaps(o, s.h.Ops[promise].Invoke, t) {
			continue
		}
		all := o.Type == histories.OK && o.HoldsLeft.Or(0) == 0 && i > g.Acquire
		if named == g || all && s.nested(g, named) {
			return true
		}
	}
	return false
}

// broken: if a was granted before g, is a promise broken?
func (s slow) broken(a, g *model.Grant) bool {
	for _, p := range s.promises(a) {
		if s.h.Ops[p].Invoke <= g.Return && g.Return < s.end(a, p) && !s.excused(a, p, g.Return) {
			return true
		}
	}
	for _, r := range s.promises(a)[1:] {
		renewal := &s.h.Ops[r]
		if renewal.Invoke <= g.Return || s.released(a, r, renewal.Return) { // the latter: see promise.accuses
			continue
		}
		for _, q := range s.promises(g) {
			if s.h.Ops[q].Return <= renewal.Invoke && renewal.Return < s.end(g, q) && !s.excused(g, q, renewal.Return) {
				return true
			}
		}
	}
	return false
}

func (s slow) exclusion() (invalid bool) {
	for _, a := range s.b.Grants {
		for _, g := range s.b.Grants {
			if a.Lock != g.Lock || a.Worker == g.Worker || s.op(a).Mode != "" && s.op(g).Mode != "" {
				continue
			}
			switch {
			case s.older(a, g):
				invalid = invalid || s.broken(a, g)
			case !s.older(g, a):
				invalid = invalid || s.broken(a, g) && s.broken(g, a)
			}
		}
	}
	return invalid
}
