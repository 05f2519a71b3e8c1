package simulate

import (
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// lock is a lock at the store. The store is honest: a lease ends when it is released,
// revoked, or when its ttl has run out, and only then is the lock granted again.
type lock struct {
	w       *world
	name    string
	holder  *lease
	waiting []*waiter
	granted int
	token   int64
	closed  int64 // nobody is granted the lock before, after a lease that was not released
}

// lease is what the store has promised to one client.
type lease struct {
	lock   *lock
	owner  *client
	life   int
	number int // place in the order of grants; 0: its client still waits
	token  int64
	end    int64 // when its ttl runs out
	holds  []*hold
	over   bool
}

type waiter struct {
	*request
	hold *hold
}

func (l *lock) ttl() int64 { return l.w.TTL[0] }

// acquire is served at one moment: the lock is free, or the client has it already, or
// it waits, or it is refused.
func (l *lock) acquire(r *request, h *hold, wait bool) {
	w := l.w
	if r.life != r.from.life && l.ttl() == 0 {
		return // the connection is gone, and with it whatever it would have held
	}
	h.ttl = r.TTLAsked * ms
	if w.Negotiates {
		h.ttl = (r.TTLAsked/2 + w.Int64N(r.TTLAsked) + 1) * ms
	}
	if own := l.holder; own != nil && own.owner == r.from && own.life == r.life && w.Reentrant {
		l.enter(r, h)
		return
	}
	h.lease = &lease{lock: l, owner: r.from, life: r.life, holds: []*hold{h}}
	if l.holder != nil && l.holder.owner != r.from && w.tells(GrantsTwice) {
		w.lied = true
		l.holder.over, l.holder = true, nil
		l.grant(&waiter{r, h})
		return
	}
	if l.holder == nil && w.now >= l.closed && len(l.waiting) == 0 {
		l.grant(&waiter{r, h})
		return
	}
	if !wait {
		r.fail(histories.ErrHeld)
		return
	}
	l.waiting = append(l.waiting, &waiter{r, h})
	if w.Sessions {
		h.lease.extend(h.ttl)
	}
	if w.now < l.closed && l.closed < histories.Never {
		w.at(l.closed, l.serve)
	}
}

// enter is re-entry: one more hold of the same lease, whose time begins anew.
func (l *lock) enter(r *request, h *hold) {
	own := l.holder
	h.lease = own
	own.holds = append(own.holds, h)
	own.extend(h.ttl)
	if l.w.Raises {
		l.nextToken()
		own.token = l.token
	}
	l.tell(r, h, own.token, len(own.holds))
}

// serve grants a free lock to one of those who wait.
func (l *lock) serve() {
	for l.holder == nil && l.w.now >= l.closed && len(l.waiting) > 0 {
		k := 0
		if l.w.chance(0.2) { // not every lock is fair
			k = l.w.IntN(len(l.waiting))
		}
		next := l.waiting[k]
		l.waiting = slices.Delete(l.waiting, k, k+1)
		switch gone := next.life != next.from.life || !next.isOpen(); {
		case gone && (l.ttl() == 0 || l.w.chance(0.5)): // the store has noticed
		case next.hold.lease.over:
		default:
			l.grant(next)
		}
	}
}

func (l *lock) grant(to *waiter) {
	lease := to.hold.lease
	l.granted++
	l.nextToken()
	lease.number, lease.token = l.granted, l.token
	l.holder = lease
	if !l.w.Sessions || lease.end == 0 {
		lease.extend(to.hold.ttl)
	}
	l.tell(to.request, to.hold, lease.token, 1)
}

func (l *lock) nextToken() {
	w := l.w
	step := int64(1)
	if w.Tokens == Revision {
		step += w.Int64N(5)
		for _, other := range w.locks { // one counter for all
			l.token = max(l.token, other.token)
		}
	}
	l.token += step
	if w.tells(RepeatsTokens) {
		w.lied = true
		l.token -= 1 + w.Int64N(2)
	}
}

// tell answers an acquire. The client takes the lock only if the lease still stands
// when the answer arrives; if it was stopped in between, it may not notice.
func (l *lock) tell(r *request, h *hold, token int64, holds int) {
	w := l.w
	count := w.Reentrant && w.chance(0.5)
	r.reply(func(o *histories.Operation) {
		if h.lease.over {
			switch {
			case w.tells(TakesDeadGrants):
				w.lied = true
			case r.from.lastOn > o.Invoke && w.chance(w.DeadGrants):
				w.untrue["live-grant"] = true
			default:
				o.Type, o.Error = histories.Info, histories.ErrLost
				return
			}
		}
		o.Type = histories.OK
		if w.Negotiates {
			o.TTL = h.ttl / ms
		}
		if w.Tokens != NoTokens {
			o.Token = histories.Some(token)
		}
		if w.Names == NamedByAnswer {
			h.name = r.from.nextName()
			o.Grant, o.GrantLate = h.name, true
		}
		if count {
			o.HoldsLeft = histories.Some(int64(holds))
		}
	})
}

func (l *lock) renew(r *request, h *hold) {
	lease := h.lease
	if lease == nil || lease.over || !slices.Contains(lease.holds, h) {
		r.fail(histories.ErrLost)
		return
	}
	ttl := h.ttl
	if r.TTLAsked > 0 {
		ttl = r.TTLAsked * ms
	}
	lease.extend(ttl)
	r.ok()
}

// release ends the holds that the client knew of when it asked: a release that lands
// late frees no hold that was taken since.
func (l *lock) release(r *request, holds []*hold) {
	lease := holds[0].lease
	if lease == nil || lease.over || !slices.Contains(lease.holds, holds[0]) {
		r.fail(histories.ErrLost)
		return
	}
	lease.holds = slices.DeleteFunc(lease.holds, func(h *hold) bool { return slices.Contains(holds, h) })
	left := len(lease.holds)
	say := left > 0 || l.w.chance(0.3)
	if left == 0 {
		lease.finish()
		l.serve()
	}
	r.reply(func(o *histories.Operation) {
		if o.Type = histories.OK; say {
			o.HoldsLeft = histories.Some(int64(left))
		}
	})
}
