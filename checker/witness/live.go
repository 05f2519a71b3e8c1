package witness

import (
	"cmp"
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// LiveGrant tells of an acquire or a renewal that was answered ok for a lease that had
// ended: how it had ended, and how long before.
func LiveGrant(l *exact.Ledger, d exact.DeadGrant) Witness {
	t := &teller{b: l.Book(), h: l.Book().History}
	g, o := d.Grant, &t.h.Ops[d.Op]
	w := Witness{Lock: g.Lock, Stale: d.Op, Core: []int{g.Acquire, d.Op}}
	asked := o.Return
	if d.Renewed() {
		asked = o.Invoke
	}
	var end int64
	if d.Newer == nil {
		end = t.h.Ops[d.Line].Return
		w.Core = append(w.Core, d.Line)
	} else {
		end = d.Newer.Return
		w.Core = append(w.Core, d.Newer.Acquire)
		if d.Promise >= 0 {
			w.Core = append(w.Core, d.Promise)
		}
	}
	w.Core = sorted(w.Core...)
	stop := t.asleep(g.Worker, end, o.Invoke, o.Return)
	if stop != nil {
		w.Cause = histories.CausePaused
	}
	t.tellAsked(&d)
	t.tellStop(stop)
	if d.Newer == nil {
		t.tellLine(g, d.Line, stop != nil || d.Renewed())
	} else {
		t.tellPassedOn(&d)
	}
	w.Title, w.Story = t.tellDead(&d, asked-end, stop), nil
	t.finish(&w, closeUp(l, w.Core))
	return w
}

// asleep finds the stop of a worker that explains why it took a lease for alive that
// had ended: the lease ended meanwhile, or the stop fell into the operation. It is nil if
// there is none.
func (t *teller) asleep(worker string, end, from, to int64) *model.Stop {
	var within *model.Stop
	for _, s := range t.b.StopsOf(worker) {
		switch {
		case s.From > to:
		case s.Overlaps(end, end):
			return s
		case s.Overlaps(from, to):
			within = s
		}
	}
	return within
}

func (t *teller) tellStop(s *model.Stop) {
	if s != nil {
		t.say(sentence{subject: s.Worker, op: s.Pause, at: s.From, text: fmt.Sprintf("was stopped at %s%s.", seconds(s.From), lasting(s))})
	}
}

// tellAsked tells of the grant, up to where it is dead.
func (t *teller) tellAsked(d *exact.DeadGrant) {
	g := d.Grant
	if d.Renewed() {
		t.tellGrant(g, nil)
		return
	}
	t.say(sentence{subject: g.Worker, op: g.Acquire, at: g.Invoke,
		text: fmt.Sprintf("asked for the lock %s%s at %s.", cut(g.Lock), lease(&t.h.Ops[g.Acquire]), seconds(g.Invoke))})
}

// tellLine tells of the store's end line of a grant. That the store was right is said
// only if it was seen to end a lease that had run out, and it was not the store that
// called the lease alive after that.
func (t *teller) tellLine(g *model.Grant, line int, innocent bool) {
	o := &t.h.Ops[line]
	s := sentence{subject: g.Worker, possessive: true, op: line, at: o.Return}
	ttl := t.h.Ops[g.Acquire].EffectiveTTL()
	switch promised := t.promisedBy(g, o.Invoke); {
	case o.F == histories.Revoke:
		s.text = fmt.Sprintf("lease was ended on purpose at %s.", seconds(o.Return))
	case ttl == 0:
		s.text = fmt.Sprintf("lease was ended by the store at %s.", seconds(o.Return))
	case o.Invoke < promised:
		s.text = fmt.Sprintf("lease was ended by the store at %s, before the promised %s.", seconds(o.Return), seconds(promised))
	case innocent:
		s.mood = Right
		s.text = fmt.Sprintf("lease ran out: the store ended it at %s. The store did the right thing.", seconds(o.Return))
	default:
		s.text = fmt.Sprintf("lease ran out: the store ended it at %s.", seconds(o.Return))
	}
	t.say(s)
}

// promisedBy is the end of the last promise to a grant of those asked for by t.
func (t *teller) promisedBy(g *model.Grant, by int64) int64 {
	end := int64(0)
	for i := g.Acquire; i < len(t.h.Ops) && t.h.Ops[i].Invoke <= by; i++ {
		o := &t.h.Ops[i]
		if t.b.Own(i) != g || o.Type != histories.OK || o.F != histories.Acquire && o.F != histories.Renew {
			continue
		}
		ttl := cmp.Or(o.EffectiveTTL(), t.h.Ops[g.Acquire].EffectiveTTL())
		if ttl == 0 {
			return histories.Never
		}
		end = max(end, o.Invoke+ttl*1_000_000)
	}
	return end
}

// tellPassedOn tells how the lease ended, and of the grant to which the lock passed on.
func (t *teller) tellPassedOn(d *exact.DeadGrant) {
	if d.Promise >= 0 {
		p := &exact.Proof{Promise: d.Promise, End: t.endOf(d.Newer, d.Promise)}
		t.tellGrant(d.Newer, p)
		t.tellPromise(d.Newer, p)
		t.say(sentence{op: -1, at: max(d.Newer.Return, t.h.Ops[d.Promise].Invoke), text: fmt.Sprintf("The two acquires overlap, but worker %s cannot have come first: "+
			"worker %s would have been granted the lock while it was promised to worker %s.", cut(d.Newer.Worker), cut(d.Grant.Worker), cut(d.Newer.Worker))})
		return
	}
	older := &teller{Case: &Case{older: d.Grant, newer: d.Newer}, b: t.b, h: t.h}
	older.end = older.findEnd()
	older.tellEnd()
	t.said = append(t.said, older.said...)
	t.tellGrant(d.Newer, nil)
}

func (t *teller) endOf(g *model.Grant, promise int) int64 {
	o := &t.h.Ops[promise]
	ttl := cmp.Or(o.EffectiveTTL(), t.h.Ops[g.Acquire].EffectiveTTL())
	if ttl == 0 {
		return histories.Never
	}
	return o.Invoke + ttl*1_000_000
}

// tellDead tells of the answer, and returns the title.
func (t *teller) tellDead(d *exact.DeadGrant, late int64, stop *model.Stop) string {
	g, o := d.Grant, &t.h.Ops[d.Op]
	after := fmt.Sprintf("%s after its lease had ended", millis(late))
	if d.Newer != nil {
		after = fmt.Sprintf("%s after the lock had passed on to worker %s", millis(late), cut(d.Newer.Worker))
	}
	excuse := ""
	if stop != nil && stop.Overlaps(o.Invoke, o.Return) {
		excuse = " It was stopped meanwhile: what had been granted may have waited for it, and a client that does not look at the time takes it for alive."
	}
	if d.Renewed() {
		t.say(sentence{mood: Wrong, subject: g.Worker, op: d.Op, at: o.Return,
			text: fmt.Sprintf("asked at %s to renew its lease, and was answered ok at %s, although it asked %s.%s", seconds(o.Invoke), seconds(o.Return), after, excuse)})
		return fmt.Sprintf("worker %s renewed its lease of the lock %s %s", cut(g.Worker), cut(g.Lock), after)
	}
	t.say(sentence{mood: Wrong, subject: g.Worker, op: d.Op, at: o.Return,
		text: fmt.Sprintf("was told at %s that it had been granted the lock%s, %s.%s", seconds(o.Return), underToken(g.Token), after, excuse)})
	return fmt.Sprintf("worker %s was granted the lock %s %s", cut(g.Worker), cut(g.Lock), after)
}
