package exact

import (
	"math"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
)

// stalled: "A waiting worker has an acquire open, or is refused again and again. The
// bound is two ttl of the last grant; without a ttl, one minute."
func (r *plainWatch) stalled(from, to int64) bool {
	bound := r.bound(from)
	for i := range r.h.Ops {
		first, until, waits := r.waits(i)
		if waits && min(until, to)-max(first, from) > bound {
			return true
		}
		for k := range i {
			if !r.refused(k, from, to) || !r.refused(i, from, to) || r.h.Ops[k].Process != r.h.Ops[i].Process {
				continue
			}
			if r.calm(k) == r.calm(i) && r.h.Ops[i].Return-max(r.h.Ops[k].Invoke, from) > bound {
				return true
			}
		}
	}
	return false
}

// bound: of grants that were answered at one time, the longest ttl counts.
func (r *plainWatch) bound(from int64) int64 {
	last := int64(math.MinInt64)
	for _, g := range r.b.Grants {
		if g.Lock == r.lock && g.Return <= from {
			last = max(last, g.Return)
		}
	}
	ttl := int64(0)
	for _, g := range r.b.Grants {
		for _, i := range r.promises(g) {
			switch end := r.Plain.end(g, i); {
			case g.Lock != r.lock || g.Return != last:
			case end == histories.Never:
				return int64(time.Minute)
			default:
				ttl = max(ttl, end-r.h.Ops[i].Invoke)
			}
		}
	}
	if ttl == 0 {
		return int64(time.Minute)
	}
	return 2 * ttl
}

// waits: from when until when did the worker of acquire i certainly wait?
func (r *plainWatch) waits(i int) (from, until int64, waits bool) {
	o := &r.h.Ops[i]
	if !r.here(i) || o.F != histories.Acquire || o.Type == histories.Info && o.Return != histories.Never {
		return 0, 0, false
	}
	until = min(o.Return, r.end)
	for _, t := range r.troubles.workers[o.Process] {
		if t.to >= o.Invoke {
			until = min(until, t.from)
		}
	}
	return o.Invoke, until, until >= o.Invoke
}

func (r *plainWatch) refused(i int, after, to int64) bool {
	o := &r.h.Ops[i]
	if !r.here(i) || o.F != histories.Acquire || o.Type != histories.Fail || o.Return <= after || o.Return > to {
		return false
	}
	for _, t := range r.troubles.workers[o.Process] {
		if t.to >= o.Invoke && t.from <= o.Return {
			return false
		}
	}
	return true
}

// calm counts the troubles of a worker before it asked.
func (r *plainWatch) calm(i int) int {
	n := 0
	for _, t := range r.troubles.workers[r.h.Ops[i].Process] {
		if t.from < r.h.Ops[i].Invoke {
			n++
		}
	}
	return n
}
