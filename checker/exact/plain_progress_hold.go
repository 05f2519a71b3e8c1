package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// readGrant: "A live holder is a worker that was not killed, whose lease stands, and that
// has neither invoked a release (whatever the answer) nor been told that the lease is
// lost."
func (r *plainWatch) readGrant(g *model.Grant) {
	said, until, by := r.leaves(g)
	for _, i := range r.promises(g) {
		o := &r.h.Ops[i]
		r.said = append(r.said, span{max(o.Invoke, g.Return), min(r.Plain.end(g, i), r.seenToEnd(g, o.Return), said)})
	}
	lease, over := r.lease(g)
	for _, s := range lease {
		r.maybe = append(r.maybe, span{max(s.from, g.Return), min(s.to, until)})
	}
	r.maybe = append(r.maybe, r.neverRenewed(g, over, by)...)
}

// seenToEnd is the first end line of the grant's own that began at t or later.
func (r *plainWatch) seenToEnd(g *model.Grant, t int64) int64 {
	end := histories.Never
	for _, i := range r.lines(g) {
		if r.h.Ops[i].Invoke >= t {
			end = min(end, r.h.Ops[i].Return)
		}
	}
	return end
}

// lease are the times in which the grant's lease may have stood, if its worker was
// there: one ttl from the answer of each promise, and one more for each renewal without
// an answer. The last one is over at the end of them all.
func (r *plainWatch) lease(g *model.Grant) (list []span, over int64) {
	over = g.Invoke
	for i := range r.h.Ops {
		o := &r.h.Ops[i]
		if r.b.Own(i) != g || o.F != histories.Acquire && o.F != histories.Renew || o.Type == histories.Fail {
			continue
		}
		end := r.Plain.end(g, i)
		ttl := end - o.Invoke
		switch {
		case o.Type == histories.Info && end == histories.Never:
			list = append(list, span{o.Invoke, histories.Never})
			over = histories.Never
		case o.Type == histories.Info:
			over = max(over, o.Invoke) + ttl
			list = append(list, span{o.Invoke, over})
		default:
			until := end
			if end != histories.Never {
				until = o.Return + ttl
			}
			until = min(until, r.seenToEnd(g, o.Return))
			list = append(list, span{o.Invoke, until})
			over = max(over, until)
		}
	}
	return list, over
}

// neverRenewed: the lease had run out, but its release found it alive, and no renewal is
// on record: so it was kept alive by other means, while its worker ran.
func (r *plainWatch) neverRenewed(g *model.Grant, over int64, left int) []span {
	if left < 0 {
		return nil
	}
	for i := range r.h.Ops {
		if r.h.Ops[i].F == histories.Renew && r.b.Own(i) == g {
			return nil
		}
	}
	o := &r.h.Ops[left]
	if o.F != histories.Release || o.Type != histories.OK || over >= o.Invoke {
		return nil
	}
	ttl := r.op(g).EffectiveTTL() * 1e6
	awake := []span{{over, o.Invoke}}
	for _, s := range r.b.StopsOf(g.Worker) {
		var rest []span
		for _, a := range awake {
			rest = append(rest, span{a.from, min(a.to, max(a.from, s.From+ttl))})
			if after := max(a.from, s.To, s.From+ttl); after < a.to {
				rest = append(rest, span{after, a.to})
			}
		}
		awake = rest
	}
	return awake
}

// maybeGranted: acquire i was not answered, and may have been granted; or its worker was
// in trouble, and could not know.
func (r *plainWatch) maybeGranted(i int) span {
	o := &r.h.Ops[i]
	trouble, troubled := r.troubles.firstTrouble(o.Process, o.Invoke, o.Return)
	from, until := o.Invoke, o.Return
	switch {
	case o.Type == histories.Info && o.Return != histories.Never:
		until = r.givenBack(i)
	case o.Type != histories.Fail && troubled:
		from = max(from, trouble.from)
	default:
		return span{}
	}
	return span{from, min(until, r.troubles.death(o.Process, from).at)}
}

// givenBack is when the next release of the worker was over, whatever its answer.
func (r *plainWatch) givenBack(acquire int) int64 {
	for k := acquire + 1; k < len(r.h.Ops); k++ {
		o := &r.h.Ops[k]
		if !r.here(k) || o.F != histories.Release || o.Process != r.h.Ops[acquire].Process {
			continue
		}
		if o.Return == histories.Never {
			return r.unheard(k)
		}
		return max(r.unheard(k), o.Return)
	}
	return histories.Never
}
