package model

import (
	"github.com/leasehold-checker/leasehold/histories"
)

// The rules, word for word, without a thought to cost: what the differential test
// compares with.

type slow struct {
	b *Book
	h *histories.History
}

func (s slow) certainlyBefore(a, g *Grant) bool {
	return a.Return < g.Invoke || a.Worker == g.Worker && a.Acquire < g.Acquire
}

// tokensAgree: every grant of the lock has a token; larger for every later grant;
// equal only for one worker with nobody else granted between.
func (s slow) tokensAgree(lock string) bool {
	for _, a := range s.b.Grants {
		if a.Lock != lock {
			continue
		}
		if !a.Token.Known() {
			return false
		}
		for _, g := range s.b.Grants {
			if a == g || g.Lock != lock || !g.Token.Known() {
				continue
			}
			if a.Token == g.Token && a.Worker != g.Worker {
				return false
			}
			if s.certainlyBefore(a, g) && g.Token.Or(0) < a.Token.Or(0) {
				return false
			}
			if a.Token != g.Token {
				continue
			}
			for _, o := range s.b.Grants {
				if o.Lock == lock && o.Worker != a.Worker && s.certainlyBefore(a, o) && s.certainlyBefore(o, g) {
					return false
				}
			}
		}
	}
	return true
}

func (s slow) older(a, g *Grant) bool {
	if a == g || a.Lock != g.Lock {
		return false
	}
	if s.tokensAgree(a.Lock) && a.Token != g.Token {
		return a.Token.Or(0) < g.Token.Or(0)
	}
	return s.certainlyBefore(a, g)
}

func (s slow) parted(a, g *Grant) bool {
	if !s.older(a, g) {
		return false
	}
	if a.Worker != g.Worker {
		return true
	}
	if a.Token.Known() && a.Token == g.Token {
		return false
	}
	for _, o := range s.b.Grants {
		if o.Worker != a.Worker && s.older(a, o) && s.older(o, g) {
			return true
		}
	}
	return false
}

// mustPrecede is rule 1, on operations of one resource.
func (s slow) mustPrecede(a, o int, seqOnly bool) bool {
	x, y := &s.h.Ops[a], &s.h.Ops[o]
	n, numbered := x.Seq.Get()
	m, both := y.Seq.Get()
	switch {
	case numbered && both && n == m:
		return x.F == histories.Write && y.F != histories.Write
	case numbered && both:
		return n < m
	case seqOnly || x.Type != histories.OK:
		return false
	case x.Process == y.Process:
		return a < o
	}
	return x.Return < y.Invoke
}

func (s slow) counted(op int) bool {
	return s.b.Own(op) != nil && (s.h.Ops[op].F == histories.Write || s.h.Header.Fence == histories.FenceAll)
}

// base is the worker's last ok read under the grant under which the write was decided.
func (s slow) base(ops []int, write int) int {
	base := -1
	for _, i := range ops {
		r := &s.h.Ops[i]
		if i < write && r.F == histories.Read && r.Process == s.h.Ops[write].Process &&
			s.b.Under(write) != nil && s.b.Own(i) == s.b.Under(write) {
			base = i
		}
	}
	return base
}

// follows tells whether operation x may stand at the end of an order.
func (s slow) follows(ops, order []int, x int, q Question) bool {
	o := &s.h.Ops[x]
	value := s.h.Header.Initial[o.Resource]
	base := -1
	if o.F == histories.Write && q.Bases {
		base = s.base(ops, x)
	}
	seen, unseen := base < 0, false
	for _, y := range order {
		p := &s.h.Ops[y]
		if s.mustPrecede(x, y, q.SeqOnly) {
			return false
		}
		if q.Grants && s.counted(x) && s.counted(y) && s.parted(s.b.Own(x), s.b.Own(y)) {
			return false
		}
		if y == base {
			seen = true
		} else if seen && base >= 0 && p.F == histories.Write && p.Type == histories.OK && p.Process != o.Process {
			unseen = true
		}
		if p.F == histories.Write {
			value = p.Value.Or("")
		}
	}
	if v, known := o.Value.Get(); q.Values && known && o.F == histories.Read && v != value {
		return false
	}
	return seen && !unseen
}

// exists tries all orders.
func (s slow) exists(ops, order []int, q Question) bool {
	in := map[int]bool{}
	for _, i := range order {
		in[i] = true
	}
	done := true
	for _, i := range ops {
		if in[i] {
			continue
		}
		done = done && s.h.Ops[i].Type != histories.OK
		if s.follows(ops, order, i, q) && s.exists(ops, append(order[:len(order):len(order)], i), q) {
			return true
		}
	}
	return done
}

func (s slow) judge(ops []int) (stale, lost Answer) {
	answer := func(q Question) Answer {
		if s.exists(ops, nil, q) {
			return Legal
		}
		return Illegal
	}
	explained := answer(Question{Values: true})
	lost = Illegal
	if explained == Legal {
		lost = answer(Question{Values: true, Bases: true})
	}
	switch {
	case explained == Legal:
		stale = answer(Question{Values: true, Grants: true})
	case answer(Question{}) == Legal:
		stale = answer(Question{Grants: true})
	default:
		stale = answer(Question{Grants: true, SeqOnly: true})
	}
	return stale, lost
}
