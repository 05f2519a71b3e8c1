package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// promise is an ok acquire or renewal: from its invocation on the store promised
// the lock. It stands at t if invoke <= t < until().
//
// It runs from the invocation, not from the answer: the store may have counted
// from the moment it was asked, and an answer that is read late would make the
// promise longer than it was.
type promise struct {
	op     int // place in History.Ops
	invoke int64
	answer int64
	end    int64 // invoke + ttl; histories.Never: no ttl, or none said
	freed  int64 // when its worker may have released it; histories.Never: it did not
	ended  int64 // when the store or the nemesis may have ended it, as far as that excuses
}

// until is the end of the promise for whatever reason.
func (p *promise) until() int64 { return min(p.end, p.freed, p.ended) }

// accuses tells whether a renewal that is answered ok says that its worker has the
// lock. While its own worker gives the lock up, it says only that the session is
// still alive: a client may delete its entry first and end the session after that,
// and goes on with its keepalive between the two.
func (p *promise) accuses() bool { return p.freed > p.answer }

// hold is a grant and what was promised to it.
type hold struct {
	*model.Grant
	index    int // among its worker's grants of the lock
	shared   bool
	ttl      int64 // ms, of the acquire; 0: none
	promises []promise
	best     []int      // by place in promises: which of those up to it stands longest
	answered []answered // filled when it is asked for
	judged   bool       // counted as a case beside an older grant
	broken   bool       // counted as a breach
}

// ledger knows every promise of a history, and what ended it.
type ledger struct {
	book     *model.Book
	holds    map[*model.Grant]*hold
	own      map[holder][]*hold
	releases map[holder][]release
	expired  map[holder][]span
	revoked  map[holder][]span
	killed   map[string][]span
}

// holder is a worker on a lock, as the store's own lines name it.
type holder struct{ worker, lock string }

func newLedger(b *model.Book) *ledger {
	l := &ledger{
		book: b, holds: make(map[*model.Grant]*hold, len(b.Grants)), own: map[holder][]*hold{},
		releases: map[holder][]release{}, expired: map[holder][]span{}, revoked: map[holder][]span{}, killed: map[string][]span{},
	}
	for i := range b.History.Ops {
		if o := &b.History.Ops[i]; o.ByWorker() {
			l.byWorker(i, o)
		} else {
			l.byOthers(o)
		}
	}
	for who, list := range l.own {
		l.settle(who, list)
	}
	return l
}

func (l *ledger) byWorker(i int, o *histories.Operation) {
	g := l.book.Own(i)
	if g == nil || o.Type == histories.Fail {
		return
	}
	who := holder{g.Worker, g.Lock}
	switch {
	case o.F == histories.Acquire:
		h := &hold{Grant: g, index: len(l.own[who]), shared: o.Mode != "", ttl: o.EffectiveTTL()}
		h.promise(i, o)
		l.holds[g] = h
		l.own[who] = append(l.own[who], h)
	case o.F == histories.Renew && o.Type == histories.OK:
		l.holds[g].promise(i, o)
	case o.F == histories.Release:
		l.releases[who] = append(l.releases[who], release{
			span: spanOf(o), op: i, hold: l.holds[g], ok: o.Type == histories.OK, keeps: o.HoldsLeft.Or(0) != 0,
		})
	}
}

func (h *hold) promise(i int, o *histories.Operation) {
	p := promise{op: i, invoke: o.Invoke, answer: o.Return, end: histories.Never}
	ttl := o.EffectiveTTL()
	if ttl == 0 {
		ttl = h.ttl
	}
	if ttl > 0 {
		p.end = o.Invoke + ttl*1_000_000
	}
	h.promises = append(h.promises, p)
}

// byOthers notes what the store or the nemesis did that may have ended a lease.
func (l *ledger) byOthers(o *histories.Operation) {
	if o.Type == histories.Fail {
		return
	}
	who := holder{o.Target, o.Lock}
	switch {
	case o.Process == histories.Store && o.F == histories.Expire:
		l.expired[who] = append(l.expired[who], spanOf(o))
	case o.Process == histories.Store && o.F == histories.Revoke:
		l.revoked[who] = append(l.revoked[who], spanOf(o))
	case o.Process == histories.Nemesis && o.F == histories.Kill:
		l.killed[o.Target] = append(l.killed[o.Target], spanOf(o))
	}
}

// settle finds out until when each promise of one worker on one lock stood. Every
// excuse says "not after this", and the earliest counts.
func (l *ledger) settle(who holder, own []*hold) {
	revoked, expired, killed := newEnds(l.revoked[who]), newEnds(l.expired[who]), newEnds(l.killed[who.worker])
	named := make([][]span, len(own))
	for _, r := range l.releases[who] {
		named[r.hold.index] = append(named[r.hold.index], r.span)
	}
	for i, h := range own {
		released := newEnds(named[i])
		for k := range h.promises {
			p := &h.promises[k]
			p.freed, p.ended = released.after(p.invoke), revoked.after(p.invoke)
			if h.ttl == 0 {
				p.ended = min(p.ended, expired.after(p.invoke), killed.after(p.invoke))
			}
		}
	}
	settleNested(own, l.releases[who])
	for _, h := range own {
		h.rank()
	}
}

func (h *hold) rank() {
	h.best = make([]int, len(h.promises))
	for k := range h.promises {
		h.best[k] = k
		if k > 0 && h.promises[h.best[k-1]].until() >= h.promises[k].until() {
			h.best[k] = h.best[k-1]
		}
	}
}
