package exact

import (
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Ledger knows every promise of a history, and what ended it. It is made once and
// shared: the judges of all timed properties read it side by side, and none writes.
type Ledger struct {
	book     *model.Book
	locks    []lockHolds // in the order of model.Book.Orders
	holds    map[*model.Grant]*hold
	own      map[holder][]*hold
	releases map[holder][]release
	doubtful map[holder][]doubtful // acquires without an answer
	expired  map[holder][]span
	revoked  map[holder][]span
	lines    map[holder][]endLine // both, where they certainly happened
	killed   map[string][]span
	owners   map[int]int // by end line: the acquire to which it belongs; both are places in History.Ops
}

// holder is a worker on a lock, as the store's own lines name it.
type holder struct{ worker, lock string }

// NewLedger reads a history once, and settles until when each promise stood.
func NewLedger(b *model.Book) *Ledger {
	l := &Ledger{
		book: b, holds: make(map[*model.Grant]*hold, len(b.Grants)), own: map[holder][]*hold{},
		releases: map[holder][]release{}, doubtful: map[holder][]doubtful{},
		expired: map[holder][]span{}, revoked: map[holder][]span{}, lines: map[holder][]endLine{}, killed: map[string][]span{},
		owners: map[int]int{},
	}
	e := newEntries(l)
	for i := range b.History.Ops {
		if o := &b.History.Ops[i]; o.ByWorker() {
			e.byWorker(i, o)
		} else {
			l.byOthers(i, o)
		}
	}
	for _, p := range e.parties {
		l.settle(p)
	}
	for _, o := range b.Orders() {
		lock := lockHolds{byToken: o.ByToken}
		for place, g := range o.Grants {
			h := l.holds[g]
			h.place = place
			lock.holds = append(lock.holds, h)
		}
		lock.sortAnswers()
		lock.findRivals()
		l.locks = append(l.locks, lock)
	}
	return l
}

// Book is the history that the ledger was made of.
func (l *Ledger) Book() *model.Book { return l.book }

// Owner is the acquire to which an end line of the store belongs, -1 if none. Both are
// places in History.Ops. The acquire may be one without an answer: then the line is held
// against nobody.
func (l *Ledger) Owner(line int) int {
	if acquire, owned := l.owners[line]; owned {
		return acquire
	}
	return -1
}

// byOthers notes what the store or the nemesis did that may have ended a lease.
func (l *Ledger) byOthers(i int, o *histories.Operation) {
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
		return
	default:
		return
	}
	if o.Type == histories.OK {
		l.lines[who] = append(l.lines[who], endLine{spanOf(o), i})
	}
}

// settle finds out until when each promise of one worker on one lock stood. Every
// excuse says "not after this", and the earliest counts.
func (l *Ledger) settle(p *party) {
	l.own[p.who] = p.own
	if len(p.releases) > 0 {
		l.releases[p.who] = p.releases
	}
	revoked, expired, killed := newEnds(l.revoked[p.who]), newEnds(l.expired[p.who]), newEnds(l.killed[p.who.worker])
	named := byHold(p.releases)
	for _, h := range p.own {
		of := 0
		for of < len(named) && named[of].hold == h {
			of++
		}
		settleNamed(h, named[:of])
		named = named[of:]
		for k := range h.promises {
			p := &h.promises[k]
			p.ended = revoked.after(p.invoke)
			if h.ttl == 0 {
				p.ended = min(p.ended, expired.after(p.invoke), killed.after(p.invoke))
			}
		}
	}
	settleNested(p.own, p.releases)
	for _, h := range p.own {
		h.rank()
	}
	l.assignLines(p.who, p.own)
}
