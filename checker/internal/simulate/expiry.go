package simulate

import (
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// extend lets the ttl run from now. It never shortens a lease: what was promised
// before still stands.
func (s *lease) extend(ttl int64) {
	w := s.lock.w
	if ttl == 0 {
		s.end = histories.Never
		return
	}
	if end := w.now + ttl; end > s.end {
		s.end = end
		late := w.Int64N(int64(float64(ttl)*w.LateExpiry) + ms/10)
		w.at(end+late, s.expire)
	}
}

// expire ends the lease, unless it was renewed meanwhile.
func (s *lease) expire() {
	w := s.lock.w
	if s.over || s.end > w.now {
		return
	}
	if w.chance(w.Observed) {
		w.line(histories.Operation{Process: histories.Store, F: histories.Expire, Lock: s.lock.name, Target: s.owner.name})
	}
	s.lose(w.LockDelay)
}

// revoke ends a lease on purpose, and on record.
func (s *lease) revoke() {
	w := s.lock.w
	f := histories.Revoke
	if s.lock.ttl() == 0 && w.chance(0.5) { // how a lock without a ttl is stolen
		f = histories.Expire
	}
	w.line(histories.Operation{Process: histories.Store, F: f, Lock: s.lock.name, Target: s.owner.name})
	s.lose(w.LockDelay)
}

// lose ends a lease that was not released. Its client may hear of it, some time.
func (s *lease) lose(delay int64) {
	w := s.lock.w
	for _, h := range s.holds {
		if w.chance(0.4) {
			s.owner.afterIn(s.life, w.delay(), func() { s.owner.lose(h) })
		}
	}
	if s.lock.holder == s {
		s.lock.closed = w.now + delay
	}
	s.finish()
	if s.lock.closed < histories.Never {
		w.at(max(w.now, s.lock.closed), s.lock.serve)
	}
}

// finish: the lease is over, and so is the wait of its client.
func (s *lease) finish() {
	s.over = true
	l := s.lock
	if l.holder == s {
		if l.holder = nil; l.w.tells(NeverFrees) {
			l.w.lied = true
			l.closed = histories.Never
		}
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(x *waiter) bool {
		if x.hold.lease == s {
			x.fail(histories.ErrLost)
		}
		return x.hold.lease == s
	})
}
