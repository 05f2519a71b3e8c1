package exact

import (
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// promises are the ok acquire and renewals of a grant: places in History.Ops.
func (p *Plain) promises(g *model.Grant) []int {
	var list []int
	for i := range p.h.Ops {
		o := &p.h.Ops[i]
		if p.b.Own(i) == g && o.Type == histories.OK && (o.F == histories.Acquire || o.F == histories.Renew) {
			list = append(list, i)
		}
	}
	return list
}

// end is the promise's invocation plus ttl; histories.Never without one.
func (p *Plain) end(g *model.Grant, promise int) int64 {
	ttl := p.op(g).TTLAsked
	if p.op(g).TTL > 0 {
		ttl = p.op(g).TTL
	}
	o := &p.h.Ops[promise]
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

// byStore: a line of the store about the grant's worker and lock.
func (p *Plain) byStore(i int, g *model.Grant, f histories.F) bool {
	o := &p.h.Ops[i]
	return o.Process == histories.Store && o.F == f && o.Lock == g.Lock && o.Target == g.Worker
}

func (p *Plain) kills(i int, g *model.Grant) bool {
	o := &p.h.Ops[i]
	return o.Process == histories.Nemesis && o.F == histories.Kill && o.Target == g.Worker
}

// excused: did anything that excuses end the grant's promise between its invocation
// and t?
func (p *Plain) excused(g *model.Grant, promise int, t int64) bool {
	timeless := p.op(g).EffectiveTTL() == 0
	for i := range p.h.Ops {
		if !overlaps(&p.h.Ops[i], p.h.Ops[promise].Invoke, t) {
			continue
		}
		if p.byStore(i, g, histories.Revoke) || timeless && (p.byStore(i, g, histories.Expire) || p.kills(i, g)) {
			return true
		}
	}
	return p.released(g, promise, t)
}

// released: may a release by its own worker have ended the grant in that time?
func (p *Plain) released(g *model.Grant, promise int, t int64) bool {
	for i := range p.h.Ops {
		if overlaps(&p.h.Ops[i], p.h.Ops[promise].Invoke, t) && p.releases(i, g) {
			return true
		}
	}
	return false
}

// releases: "An ok release without `count=`, or with `count=0`, ends all nested grants
// of that worker; an unanswered one excuses only the grant that it names."
func (p *Plain) releases(i int, g *model.Grant) bool {
	o, named := &p.h.Ops[i], p.b.Own(i)
	if o.F != histories.Release || o.Type == histories.Fail || named == nil {
		return false
	}
	all := o.Type == histories.OK && o.HoldsLeft.Or(0) == 0 && i > g.Acquire
	return named == g || all && p.nested(g, named)
}

// given: the promise was made by t, is not over, and nothing excuses its end by then.
func (p *Plain) given(g *model.Grant, promise int, t int64) bool {
	return p.h.Ops[promise].Invoke <= t && t < p.end(g, promise) && !p.excused(g, promise, t)
}

// lines are the end lines that are held against a grant: "An end line belongs to the
// oldest grant of that worker on that lock that may still be open then: asked for by
// then, no ok release answered before, no earlier end line of its own unless renewed
// since." What may be open is also what came of an acquire without an answer.
func (p *Plain) lines(g *model.Grant) []int {
	last := map[int]int{} // by acquire: its last line
	var mine []int
	for _, line := range p.allLines(g) {
		for i := range p.h.Ops {
			if !p.openAt(i, g, line, last) {
				continue
			}
			last[i] = line
			if i == g.Acquire {
				mine = append(mine, line)
			}
			break
		}
	}
	return mine
}

// allLines are the certain end lines of the grant's worker on its lock, by their ends.
func (p *Plain) allLines(g *model.Grant) []int {
	var list []int
	for i := range p.h.Ops {
		if p.h.Ops[i].Type == histories.OK && (p.byStore(i, g, histories.Expire) || p.byStore(i, g, histories.Revoke)) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return int(p.h.Ops[a].Return - p.h.Ops[b].Return) })
	return list
}

// openAt: may the grant of acquire i, by the same worker on the same lock as g, be open
// at the time of a line?
func (p *Plain) openAt(i int, g *model.Grant, line int, last map[int]int) bool {
	o, at := &p.h.Ops[i], &p.h.Ops[line]
	if o.F != histories.Acquire || o.Type == histories.Fail || o.Process != g.Worker || o.Lock != g.Lock || o.Invoke > at.Return {
		return false
	}
	for k := range p.h.Ops {
		r := &p.h.Ops[k]
		if r.Type == histories.OK && r.Return < at.Invoke && (p.b.Own(i) != nil && p.releases(k, p.b.Own(i)) || p.b.Own(i) == nil && p.releasesDoubtful(k, i)) {
			return false
		}
	}
	before, ended := last[i]
	for k := range p.h.Ops {
		r := &p.h.Ops[k]
		if ended && p.b.Own(i) != nil && p.b.Own(k) == p.b.Own(i) && r.F == histories.Renew && r.Type == histories.OK &&
			r.Return >= p.h.Ops[before].Invoke && r.Invoke <= at.Return {
			return true
		}
	}
	return !ended
}

// releasesDoubtful: the release names the grant of an acquire without an answer.
func (p *Plain) releasesDoubtful(release, acquire int) bool {
	o, a := &p.h.Ops[release], &p.h.Ops[acquire]
	return o.F == histories.Release && p.b.Own(release) == nil && o.Process == a.Process && o.Lock == a.Lock &&
		o.Grant != "" && o.Grant == a.Grant && release > acquire
}

// ended: a line of its own lies certainly within a span of time.
func (p *Plain) ended(g *model.Grant, from, before int64) bool {
	return slices.ContainsFunc(p.lines(g), func(i int) bool {
		return p.h.Ops[i].Invoke >= from && p.h.Ops[i].Return < before
	})
}
