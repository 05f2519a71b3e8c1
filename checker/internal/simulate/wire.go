package simulate

import "github.com/leasehold-checker/leasehold/histories"

// request is an operation of a client that somebody else has to answer.
type request struct {
	*entry
	from     *client
	life     int
	deaf     bool // its answer gets lost on the way
	reliable bool
	done     func()

	arrived, served int64 // when it came to the other side, and when that had an answer; 0: not yet
}

// ask puts an operation on record and sends it. It reaches the other side, which
// serves it, at one moment; or it gets lost, or its answer does, and then the client
// gives up after a while. The request may land after that. When the operation is
// closed, done goes on.
func (c *client) ask(e *entry, serve func(*request), done func()) {
	w := c.w
	r := &request{entry: e, from: c, life: c.life, done: done}
	c.open = append(c.open, r)
	arrives := w.delay()
	r.reliable, c.reliable = c.reliable, false
	if !r.reliable && w.chance(w.Unknown) {
		r.loseAnswer()
		if w.chance(0.5) {
			return // the request got lost, too
		}
		if w.chance(0.3) {
			arrives += w.Int64N(80 * ms)
		}
	}
	w.after(arrives, func() {
		// What a dead process has sent may still arrive.
		if r.life == c.life || w.chance(0.5) {
			r.arrived = w.now
			serve(r)
		}
	})
}

func (r *request) loseAnswer() {
	if r.deaf {
		return
	}
	r.deaf = true
	r.giveUpAfter(2*ms + r.from.w.Int64N(20*ms))
}

func (r *request) giveUpAfter(d int64) {
	r.from.after(d, func() {
		r.close(func(o *histories.Operation) { o.Type, o.Error = histories.Info, histories.ErrTimeout })
	})
}

// reply sends the answer. What the client makes of it is said when it arrives.
func (r *request) reply(arrived func(*histories.Operation)) {
	if r.served = r.from.w.now; !r.deaf {
		r.from.afterIn(r.life, r.from.w.delay(), func() { r.close(arrived) })
	}
}

func (r *request) ok() { r.reply(func(o *histories.Operation) { o.Type = histories.OK }) }

func (r *request) fail(reason string) {
	r.reply(func(o *histories.Operation) { o.Type, o.Error = histories.Fail, reason })
}

// isOpen tells whether the client still waits for an answer.
func (r *request) isOpen() bool { return r.Return == histories.Never && r.life == r.from.life }

func (r *request) close(say func(*histories.Operation)) {
	if !r.isOpen() {
		return
	}
	r.Return = r.from.w.now
	r.noteDelay()
	say(&r.Operation)
	r.from.forget(r)
	if r.done != nil {
		r.done()
	}
}

// noteDelay: who asks for the lock and waits for the network instead may wait for longer
// than any store would make it, if leases are short.
func (r *request) noteDelay() {
	w := r.from.w
	onTheWay := r.Return - r.Invoke
	if r.served > 0 {
		onTheWay -= r.served - r.arrived
	}
	if r.F == histories.Acquire && w.TTL[0] > 0 && 4*onTheWay > w.TTL[0]*ms {
		w.untrue["progress"] = true
	}
}
