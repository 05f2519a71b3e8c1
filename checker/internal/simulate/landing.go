package simulate

import "github.com/leasehold-checker/leasehold/histories"

// land lets an operation take effect at the store or the resource.
func (f *field) land(who int32, now int64) {
	h := &f.hands[who]
	p := &f.places[h.place]
	o := &f.ops[h.op]
	switch o.F {
	case histories.Acquire:
		if p.holder >= 0 && f.Crowd {
			o.Type, o.Error = histories.Fail, histories.ErrHeld
			break
		}
		p.waiting = append(p.waiting, who)
		f.grant(h.place, now)
		return
	case histories.Release, histories.Renew:
		if p.holder != who || p.lease != h.lease {
			o.Type, o.Error = histories.Fail, histories.ErrLost
			break
		}
		o.Type = histories.OK
		if o.F == histories.Renew {
			f.extend(h.place, now)
			break
		}
		p.holder = -1
		f.grant(h.place, now)
	default:
		f.touch(who, h, p, o)
	}
	f.then(who, answers, now+f.some())
}

// touch is an operation on the resource. What the fence lets pass and would still
// break a property gets lost.
func (f *field) touch(who int32, h *hand, p *place, o *histories.Operation) {
	if o.F == histories.Write {
		switch {
		case f.Fence != histories.FenceOff && !f.NoTokens && h.token < p.top:
			o.Type, o.Error, h.lost = histories.Fail, histories.ErrFenced, false
			return
		case h.lease < p.touched, h.base > 0 && p.writtenSince(who, h.base):
			h.lost = true
			return
		}
	}
	f.apply(who, h, p, o)
}

// apply accepts an operation, whatever it does.
func (f *field) apply(who int32, h *hand, p *place, o *histories.Operation) {
	o.Type = histories.OK
	p.effects++
	h.seen = p.effects
	if o.F == histories.Write {
		p.top, p.touched = max(p.top, h.token), max(p.touched, h.lease)
		p.value = o.Value.Or("")
		p.commits++
		p.noteWrite(who)
	} else {
		o.Value = histories.Some(p.value)
	}
	if f.Numbered {
		o.Seq = histories.Some(int64(p.commits))
	}
}

func (p *place) noteWrite(who int32) {
	if p.lastWriter != who {
		p.otherWrite, p.lastWriter = p.lastWrite, who
	}
	p.lastWrite = p.effects
}

// writtenSince tells whether somebody else has written since an effect.
func (p *place) writtenSince(who int32, effect int) bool {
	if p.lastWriter != who {
		return p.lastWrite > effect
	}
	return p.otherWrite > effect
}

// grant gives a free lock to the first who waits.
func (f *field) grant(at int32, now int64) {
	p := &f.places[at]
	if p.holder >= 0 || f.cue(at, now) || len(p.waiting) == 0 {
		return
	}
	who := p.waiting[0]
	p.waiting = p.waiting[1:]
	p.holder = who
	p.lease++
	p.token++
	h := &f.hands[who]
	h.lease, h.token = p.lease, p.token
	o := &f.ops[h.op]
	o.Type = histories.OK
	if !f.NoTokens {
		o.Token = histories.Some(p.token)
	}
	f.extend(at, now)
	f.then(who, answers, now+f.some())
}

// extend lets the lease run from now. In a crowd leases last.
func (f *field) extend(at int32, now int64) {
	p := &f.places[at]
	p.ends = now + f.ttl()
	if !f.Crowd {
		f.queue.add(moment{p.ends, ^at})
	}
}

func (f *field) expire(at int, now int64) {
	p := &f.places[at]
	if p.holder < 0 || p.ends != now {
		return
	}
	f.lose(int32(at), histories.Expire, now)
}

// revoke takes the lock from its holder, who does not hear of it.
func (f *field) revoke(at int32, now int64) {
	p := &f.places[at]
	h := &f.hands[p.holder]
	h.holding, h.zombie = false, true
	f.lose(at, histories.Revoke, now)
}

func (f *field) lose(at int32, how histories.F, now int64) {
	p := &f.places[at]
	f.endOnRecord(p, &f.hands[p.holder], how, now)
	p.holder = -1
	f.grant(at, now)
}

// endOnRecord: the store is seen to end the lease of a worker.
func (f *field) endOnRecord(p *place, h *hand, how histories.F, now int64) {
	f.ops = append(f.ops, histories.Operation{
		Process: histories.Store, ID: int64(len(f.ops)), F: how, Type: histories.OK, Invoke: now, Return: now,
		Lock: p.lock, Target: h.name,
	})
}

// moment is when something happens: to a hand, or, as its complement, to a place.
type moment struct {
	at  int64
	who int32
}

// moments is a heap with four children a node: fewer steps than with two, and they lie
// together. Moments at one time come in any order, the same in every run.
type moments []moment

func (q *moments) add(m moment) {
	*q = append(*q, m)
	s := *q
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if s[up].at <= m.at {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = m
}

func (q *moments) next() moment {
	s := *q
	first, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*q = s
	i := 0
	for {
		least := 4*i + 1
		if least >= len(s) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(s)); c++ {
			if s[c].at < s[least].at {
				least = c
			}
		}
		if s[least].at >= last.at {
			break
		}
		s[i] = s[least]
		i = least
	}
	if len(s) > 0 {
		s[i] = last
	}
	return first
}
