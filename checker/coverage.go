package checker

import (
	"context"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// cover counts what the history put to the test, in the order by which each resource
// was judged. It is not whole if the context ended before.
func cover(ctx context.Context, b *model.Book, findings []finding) (c Coverage, whole bool) {
	t := newTrialist(ctx, b)
	c = Coverage{Operations: map[histories.F]int{}, Faults: map[histories.F]int{}, Grants: len(b.Grants)}
	countOperations(&c, b)
	for i := range findings {
		f := &findings[i]
		byNumber := f.judgement.StaleQuestion.SeqOnly
		t.numbers[f.resource.Name] = byNumber
		for _, op := range f.late {
			if b.History.Ops[op].F == histories.Write {
				c.StaleAccepted++
			}
		}
		countExposures(&c, b, f.resource, f.late)
		c.StaleRefused += len(f.resource.StaleRefused(byNumber))
		c.LostUpdates += len(f.lost)
		for _, l := range f.lost {
			t.lossy[l.Lost], t.lossy[l.Write] = true, true
		}
	}
	c.StaleAttempted = c.StaleAccepted + c.StaleRefused
	c.Trials, whole = t.all()
	for i := range c.Trials {
		t := &c.Trials[i]
		c.Takeovers += one(t.Takeover)
		c.Conclusive += one(t.Conclusive)
		c.ConclusiveLost += one(t.ConclusiveLost)
	}
	return c, whole
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func countOperations(c *Coverage, b *model.Book) {
	workers, locks := map[string]bool{}, map[string]bool{}
	for i := range b.History.Ops {
		o := &b.History.Ops[i]
		switch {
		case o.Process == histories.Nemesis && o.Type == histories.OK:
			c.Faults[o.F]++
			c.Pauses += one(o.F == histories.Pause)
		case o.Process == histories.Store && o.F == histories.Expire && o.Type == histories.OK:
			c.Expiries++
		}
		if !o.ByWorker() {
			continue
		}
		workers[o.Process] = true
		if o.F == histories.Acquire {
			locks[o.Lock] = true
		}
		switch {
		case o.Type == histories.OK:
			c.Operations[o.F]++
		case o.Type == histories.Info:
			c.Unknown++
		case o.F.OnResource() && o.Fenced():
			c.Refused++
		}
	}
	c.Workers, c.Locks = len(workers), len(locks)
}

// countExposures: an accepted write of an older grant was sent after another worker
// was granted the lock, and nothing under a newer grant had touched the resource
// before it, as far as the history tells.
func countExposures(c *Coverage, b *model.Book, r *model.Resource, stale []int) {
	late := map[int]bool{}
	for _, op := range stale {
		late[op] = true
	}
	for _, op := range r.Ops {
		if ns, exposed := exposure(b, op); exposed && !late[op] {
			c.Exposures++
			c.ExposureMaxNS = max(c.ExposureMaxNS, ns)
		}
	}
}

// exposure is the time from the first newer grant of another worker to the sending
// of an accepted write; false if there was no such grant before it.
func exposure(b *model.Book, op int) (ns int64, exposed bool) {
	o, g := &b.History.Ops[op], b.Own(op)
	if g == nil || o.F != histories.Write || o.Type != histories.OK || g.Succeeded() >= o.Invoke {
		return 0, false
	}
	return o.Invoke - g.Succeeded(), true
}
