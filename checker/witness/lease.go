package witness

import (
	"fmt"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// leaseEnd is what the history says about how the older holder's lease ended before
// the newer grant.
type leaseEnd struct {
	kind     endKind
	op       int // the operation that says so; -1 if none does
	at       int64
	promised int64 // until when the store had promised the lease; histories.Never: for good
}

type endKind int

const (
	endUnknown  endKind = iota // the history does not say
	endReleased                // by its own worker
	endExpired                 // the store was seen to end it, not before the promised time
	endEarly                   // the store was seen to end it before that
	endRevoked                 // on purpose
	endPromise                 // the promise had run out when the next grant was answered
	endNotYet                  // the next grant was answered before that
)

func (t *teller) findEnd() leaseEnd {
	e := leaseEnd{op: -1, promised: t.promise()}
	doubtful := t.linesDoubtful()
	e.at = e.promised
	for i := range t.h.Ops {
		o := &t.h.Ops[i]
		if o.Invoke > t.newer.Return {
			break
		}
		if doubtful && !o.ByWorker() {
			continue
		}
		if kind := t.ends(i, e.promised); kind != endUnknown {
			e.kind, e.op, e.at = kind, i, o.Invoke
			return e
		}
	}
	switch {
	case e.promised == histories.Never:
	case t.newer.Return >= e.promised:
		e.kind = endPromise
	default:
		e.kind, e.at = endNotYet, t.newer.Return
	}
	return e
}

// linesDoubtful: the store's end lines name a worker, not a grant. They may be about
// an earlier acquire of it that may still be open; there is none if every such
// acquire has a release or an end line of its own.
func (t *teller) linesDoubtful() bool {
	open := 0
	for i := range t.older.Acquire {
		o := &t.h.Ops[i]
		mine := o.Process == t.older.Worker && o.Lock == t.older.Lock
		switch {
		case mine && o.F == histories.Acquire && o.Type != histories.Fail:
			open++
		case mine && o.F == histories.Release && o.Type == histories.OK && t.b.Own(i) != nil:
			open--
		case o.Process == histories.Store && o.Lock == t.older.Lock && o.Target == t.older.Worker:
			if o.F == histories.Expire || o.F == histories.Revoke {
				open--
			}
		}
	}
	return open > 0
}

// ends tells whether operation i ended the older grant.
func (t *teller) ends(i int, promised int64) endKind {
	o := &t.h.Ops[i]
	switch {
	case o.Process == t.older.Worker && o.F == histories.Release:
		if t.releases(i) {
			return endReleased
		}
		return endUnknown
	case o.Process != histories.Store || o.Lock != t.older.Lock || o.Target != t.older.Worker || o.Invoke < t.older.Invoke:
		return endUnknown
	case o.F == histories.Revoke:
		return endRevoked
	case o.F != histories.Expire:
		return endUnknown
	case o.Invoke >= promised && t.newer.Return >= promised:
		return endExpired
	}
	return endEarly
}

// releases tells whether release i of the older holder gave its grant up, or may have:
// an unanswered one only the grant that it is about, an ok one that leaves no holds
// all nested grants.
func (t *teller) releases(i int) bool {
	o, g := &t.h.Ops[i], t.b.Own(i)
	switch {
	case g == nil || g.Lock != t.older.Lock || o.Type == histories.Fail || o.HoldsLeft.Or(0) > 0:
		return false
	case g == t.older:
		return true
	case o.Type != histories.OK:
		return false
	case g.Acquire > t.older.Acquire:
		return model.Nested(t.older, g)
	}
	return o.Invoke > t.older.Return && model.Nested(g, t.older)
}

// promise is the end of the last promise that the store gave to the older grant
// before the newer one was answered.
func (t *teller) promise() int64 {
	end := int64(0)
	ttl := t.h.Ops[t.older.Acquire].EffectiveTTL()
	for i := t.older.Acquire; i < len(t.h.Ops) && t.h.Ops[i].Invoke <= t.newer.Return; i++ {
		o := &t.h.Ops[i]
		if t.b.Own(i) != t.older || o.Type != histories.OK || o.F != histories.Acquire && o.F != histories.Renew {
			continue
		}
		length := ttl
		if own := o.EffectiveTTL(); own > 0 {
			length = own
		}
		if length == 0 {
			return histories.Never
		}
		end = max(end, o.Invoke+length*1_000_000)
	}
	return end
}

// deadGrant: the lease had ended before its acquire was answered, and that the worker
// stood still meanwhile does not explain it.
func (t *teller) deadGrant() bool {
	g := t.older
	return t.end.at <= g.Return && !slices.ContainsFunc(t.b.StopsOf(g.Worker), func(s *model.Stop) bool {
		return s.From >= g.Invoke && s.From <= t.end.at && s.To >= t.end.at
	})
}

// tellEnd says how the lease ended. That the store was right is said only where it was
// seen to end the lease, and not before it had promised to.
func (t *teller) tellEnd() {
	e := t.end
	s := sentence{subject: t.older.Worker, possessive: true, at: e.at, op: e.op}
	switch e.kind {
	case endReleased:
		s.possessive = false
		s.text = fmt.Sprintf("released the lock at %s.", seconds(e.at))
		if t.h.Ops[e.op].Type != histories.OK {
			s.text = fmt.Sprintf("asked at %s to release the lock, and had no answer.", seconds(e.at))
		}
	case endExpired:
		if t.deadGrant() {
			s.text = fmt.Sprintf("lease ran out: the store ended it at %s, before the grant was answered.", seconds(e.at))
			break
		}
		s.mood = Right
		s.text = fmt.Sprintf("lease ran out: the store ended it at %s. The store did the right thing.", seconds(e.at))
	case endEarly:
		s.text = fmt.Sprintf("lease was ended by the store at %s.", seconds(e.at))
		if e.promised != histories.Never {
			s.text = fmt.Sprintf("lease was ended by the store at %s, before the promised %s.", seconds(e.at), seconds(e.promised))
		}
	case endRevoked:
		s.text = fmt.Sprintf("lease was ended on purpose at %s.", seconds(e.at))
	case endPromise:
		s.text = fmt.Sprintf("lease was promised until %s; the next grant came after that.", seconds(e.promised))
	case endNotYet:
		s.text = fmt.Sprintf("lease was promised until %s, but the next grant came before that.", seconds(e.promised))
	default:
		return
	}
	t.say(s)
}
