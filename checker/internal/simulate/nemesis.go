package simulate

import (
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// trouble plans what the nemesis and the operators do, over the time that the
// history takes, roughly.
func (w *world) trouble() {
	span := int64(w.Steps) * 5 * ms
	plan := func(times int, do func()) {
		for range times {
			w.at(w.tick(w.Int64N(span)+1), do)
		}
	}
	plan(w.Pauses, w.pause)
	plan(w.Kills, w.kill)
	plan(w.Revokes, w.revoke)
	plan(w.SessionKills, w.killSession)
}

func (w *world) victim() *client { return w.clients[w.IntN(w.Workers)] }

// nemesis puts on record what it did to somebody, just now.
func (w *world) nemesis(f histories.F, target string) {
	e := w.begin(histories.Operation{Process: histories.Nemesis, F: f, Target: target})
	e.Return, e.Type = w.now, histories.OK
}

// pause stops a worker, mostly for longer than its lease.
func (w *world) pause() {
	c := w.victim()
	if c.stopped || c.dead {
		return
	}
	c.stopped = true
	w.nemesis(histories.Pause, c.name)
	life, length := c.life, 5*ms+w.Int64N(150*ms)
	w.at(w.tick(w.now+length), func() {
		if c.life == life && c.stopped {
			w.nemesis(histories.Resume, c.name)
			c.resume()
		}
	})
}

func (c *client) resume() {
	c.stopped, c.lastOn = false, c.w.now
	parked := c.parked
	c.parked = nil
	for _, do := range parked {
		c.after(c.w.Int64N(ms), do)
	}
}

// kill ends a process. Often it is started again under its old name.
func (w *world) kill() {
	c := w.victim()
	if c.dead || slices.ContainsFunc(c.open, func(r *request) bool { return r.reliable }) {
		return
	}
	w.line(histories.Operation{Process: histories.Nemesis, F: histories.Kill, Target: c.name})
	again := w.chance(0.7)
	for _, r := range c.open {
		if again { // its name goes on, so its operations must not stay open
			r.Return = w.now
		}
	}
	old := c.life
	c.life++
	c.dead, c.stopped, c.open, c.parked, c.holds = true, false, nil, nil, nil
	for _, l := range w.locks {
		if l.ttl() == 0 { // the store sees the connection break
			w.after(w.delay(), func() { l.disconnected(c, old) })
		}
	}
	if again {
		w.at(w.tick(w.now+1+w.Int64N(30*ms)), func() {
			w.nemesis(histories.Restart, c.name)
			c.dead = false
			c.next()
		})
	}
}

func (l *lock) disconnected(c *client, life int) {
	if s := l.holder; s != nil && s.owner == c && s.life == life {
		if l.w.chance(l.w.Observed) {
			s.revoke()
		} else {
			s.lose(0)
		}
	}
}

// revoke: an operator takes a lock away.
func (w *world) revoke() {
	if s := w.locks[w.IntN(len(w.locks))].holder; s != nil {
		s.revoke()
	}
}

// killSession ends all leases of a worker.
func (w *world) killSession() {
	c := w.victim()
	w.nemesis(histories.KillSession, c.name)
	for _, l := range w.locks {
		if s := l.holder; s != nil && s.owner == c {
			s.revoke()
		}
	}
}
