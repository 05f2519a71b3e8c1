package witness

import (
	"fmt"
	"strings"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// reason finds out why a grant came too early, where that can be told, and what to
// tell of it: places in History.Ops.
func (t *teller) reason(p *exact.Proof) (histories.Cause, []int) {
	from := t.h.Ops[p.Promise].Invoke
	var ops []int
	if i := t.seenToEnd(p, from); i >= 0 {
		ops = append(ops, i)
	}
	for _, one := range []struct {
		cause histories.Cause
		op    int
	}{
		{histories.CauseReleased, t.releasedByAnother(p)},
		{histories.CauseRestart, restarted(t.h, from, p.Newer.Return)},
		{histories.CauseClock, clockMoved(t.h, p.Older.Invoke, p.Newer.Return)},
	} {
		if one.op >= 0 {
			return one.cause, append(ops, one.op)
		}
	}
	return histories.CauseUnknown, ops
}

// seenToEnd is a line of the store that ended a lease of the older grant's worker
// while it was promised the lock.
func (t *teller) seenToEnd(p *exact.Proof, from int64) int {
	return find(t.h, func(_ int, o *histories.Operation) bool {
		return o.Process == histories.Store && o.F == histories.Expire && o.Type == histories.OK &&
			o.Lock == p.Older.Lock && o.Target == p.Older.Worker && o.Invoke >= from && o.Return <= p.Newer.Return
	})
}

// releasedByAnother is a release by another worker that may have hit the older
// grant's lock: it was under way when that was granted, and the lease that it was
// meant for had run out by then. A release that handed the lock over is none.
func (t *teller) releasedByAnother(p *exact.Proof) int {
	return find(t.h, func(i int, o *histories.Operation) bool {
		g := t.b.Own(i)
		if o.F != histories.Release || o.Type == histories.Fail || g == nil || g.Lock != p.Older.Lock || g.Worker == p.Older.Worker {
			return false
		}
		underway := o.Invoke <= p.Newer.Return && (o.Type == histories.Info || o.Return > p.Older.Return)
		return underway && model.Older(g, p.Older) && t.ranOut(g, p.Older.Return)
	})
}

// ranOut tells whether every promise to a grant had come to its end by then.
func (t *teller) ranOut(g *model.Grant, by int64) bool {
	ttl := t.h.Ops[g.Acquire].EffectiveTTL()
	for i := g.Acquire; i < len(t.h.Ops) && t.h.Ops[i].Invoke <= by; i++ {
		o := &t.h.Ops[i]
		if t.b.Own(i) != g || o.Type == histories.Fail || o.F != histories.Acquire && o.F != histories.Renew {
			continue
		}
		length := ttl
		if own := o.EffectiveTTL(); own > 0 {
			length = own
		}
		if length == 0 || o.Invoke+length*1_000_000 > by {
			return false
		}
	}
	return true
}

// restarted is a restart or kill of something that is neither a worker nor a
// resource, in a span of time.
func restarted(h *histories.History, from, to int64) int {
	var ours map[string]bool
	return find(h, func(_ int, o *histories.Operation) bool {
		if !during(o, from, to) || !strings.HasPrefix(string(o.F), string(histories.Restart)) && !strings.HasPrefix(string(o.F), string(histories.Kill)) {
			return false
		}
		if ours == nil {
			ours = names(h)
		}
		return !ours[o.Target]
	})
}

// names are the workers and the resources.
func names(h *histories.History) map[string]bool {
	known := map[string]bool{}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.ByWorker() {
			known[o.Process] = true
			known[o.Resource] = o.Resource != ""
		}
	}
	return known
}

func clockMoved(h *histories.History, from, to int64) int {
	return find(h, func(_ int, o *histories.Operation) bool {
		return during(o, from, to) && strings.HasPrefix(string(o.F), "clock")
	})
}

// during: something that the nemesis did, perhaps, in a span of time.
func during(o *histories.Operation, from, to int64) bool {
	return o.Process == histories.Nemesis && o.Type != histories.Fail && o.Invoke <= to && (o.Type == histories.Info || o.Return >= from)
}

func find(h *histories.History, want func(int, *histories.Operation) bool) int {
	for i := range h.Ops {
		if want(i, &h.Ops[i]) {
			return i
		}
	}
	return -1
}

// tellReason tells what was found beside the two grants.
func (t *teller) tellReason(i int, cause histories.Cause) {
	o := &t.h.Ops[i]
	switch {
	case o.Process == histories.Store:
		t.say(sentence{op: i, at: o.Invoke, text: fmt.Sprintf("The store was seen to end a lease of worker %s at %s.", cut(o.Target), seconds(o.Invoke))})
	case o.F == histories.Release:
		t.say(sentence{subject: o.Process, op: i, at: o.Invoke,
			text: fmt.Sprintf("released the lock at %s, although its own lease had run out: that may have freed another's.", seconds(o.Invoke))})
	default:
		what := strings.Join(strings.Fields(string(o.F)+" "+o.Target+" "+o.Text), " ")
		t.say(sentence{op: i, at: o.Invoke, text: fmt.Sprintf("The nemesis did this at %s: %s (%s).", seconds(o.Invoke), cut(what), cause)})
	}
}
