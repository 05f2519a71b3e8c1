package simulate

import "github.com/leasehold-checker/leasehold/histories"

// keepAlive renews a lease some times, on a thread of its own. Its period is chosen
// so that some renewals race with the end of the lease.
func (c *client) keepAlive(h *hold, times int) {
	w := c.w
	ttl := max(h.ttl, h.acquire.TTLAsked*ms)
	if times == 0 || ttl == 0 {
		return
	}
	c.after(ttl/8+w.Int64N(ttl), func() {
		waiting := h.acquire.Return == histories.Never
		if h.left || !waiting && !h.granted {
			return
		}
		o := histories.Operation{Process: c.name, F: histories.Renew, Lock: h.lock.name}
		if w.chance(0.2) {
			o.TTLAsked = w.TTL[w.IntN(len(w.TTL))]
		}
		e := w.begin(o)
		e.hold = h
		c.ask(e, func(r *request) { h.lock.renew(r, h) }, func() { c.renewed(h, e) })
		c.keepAlive(h, times-1)
	})
}

func (c *client) renewed(h *hold, e *entry) {
	w := c.w
	if e.Type == histories.OK || h.left || !h.granted {
		return
	}
	if e.Type == histories.Fail || w.chance(w.EarlyLost) {
		c.lose(h)
	}
}

// lose: the client is told that its lease is gone, and may act on it.
func (c *client) lose(h *hold) {
	w := c.w
	if h.told || h.left || !h.granted {
		return
	}
	h.told = true
	e := w.begin(histories.Operation{Process: c.name, F: histories.Lost, Lock: h.lock.name})
	e.hold, e.Type, e.Return = h, histories.OK, w.now
	if !h.lease.over {
		w.untrue["belief"] = true
	}
	if w.chance(w.Careful) {
		c.leave(h)
	}
}
