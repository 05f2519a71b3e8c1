package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/leasehold-checker/leasehold/histories"
)

// Lease is one grant of a lock to a worker: what the worker believes, and what
// the store granted. Times are nanoseconds since the cell began.
type Lease struct {
	Op       int    `json:"op"` // the acquire: place in History.Ops
	Lock     string `json:"lock"`
	Process  string `json:"process"`
	Grant    string `json:"grant"`
	Token    string `json:"token,omitempty"` // decimal; a JavaScript number has only 53 bits
	Begin    int64  `json:"begin"`           // the acquire's answer
	Believes int64  `json:"believes"`        // until when the worker believes in it
	Sure     int64  `json:"sure"`            // until when the store said that it holds
	Gone     int64  `json:"gone"`            // from when on it certainly does not hold; Begin or later. The end of the history if never
	Ended    string `json:"ended,omitempty"` // what ended it at Gone: released, expired, revoked, successor; empty: nothing was seen
}

func (l Lease) span() (string, int64, int64) { return l.Lock, l.Begin, max(l.Believes, l.Gone) }

// grant is a Lease that is being put together, with what it hangs on.
type grant struct {
	Lease
	lock, process string // not yet cut for the page
	acquire       *histories.Operation
	rank          int   // grants of the lock up to this one
	promise       int64 // the store promised it until then; Never without a ttl
	doubt         int64 // a release without a definite answer was asked for
	closed        int64 // an end line of the store has named it
	renewed       int64 // invocation of the last ok renewal
}

// buildLeases follows every grant from its answer to its end.
func buildLeases(x *index) []Lease {
	book := newBook(x)
	for i := range x.h.Ops {
		book.take(&x.h.Ops[i])
	}
	leases := make([]Lease, 0, len(book.all))
	for _, g := range book.all {
		leases = append(leases, book.settle(g))
	}
	return leases
}

type holder struct{ lock, process string }

// book is the grants so far. Lists are in the order of the acquires' answers.
type book struct {
	x      *index
	all    []*grant
	byID   map[string]*grant
	of     map[holder][]*grant
	open   map[holder][]*grant // without those that an end line can no longer mean
	by     map[string][]*grant // process -> without those that a kill has ended
	byLock map[string][]*grant
}

// newBook opens a grant for every ok acquire. That comes first: a renewal may be
// invoked before the acquire that it serves is answered.
func newBook(x *index) *book {
	b := &book{x: x, byID: map[string]*grant{}, of: map[holder][]*grant{}, open: map[holder][]*grant{}, by: map[string][]*grant{}, byLock: map[string][]*grant{}}
	named := map[string]int{}
	for i := range x.h.Ops {
		op := &x.h.Ops[i]
		if !op.ByWorker() || op.F != histories.Acquire || op.Type != histories.OK {
			continue
		}
		named[op.Process]++
		id := op.Grant
		if id == "" {
			id = grantID(op.Process, named[op.Process])
		}
		g := newGrant(i, op, id)
		b.all = append(b.all, g)
		b.byID[id] = g
	}
	slices.SortStableFunc(b.all, func(p, q *grant) int { return cmp.Compare(p.Begin, q.Begin) })
	for _, g := range b.all {
		key := holder{g.lock, g.process}
		b.of[key] = append(b.of[key], g)
		b.open[key] = append(b.open[key], g)
		b.by[g.process] = append(b.by[g.process], g)
		b.byLock[g.lock] = append(b.byLock[g.lock], g)
		g.rank = len(b.byLock[g.lock])
	}
	return b
}

func newGrant(place int, op *histories.Operation, id string) *grant {
	g := &grant{lock: op.Lock, process: op.Process, acquire: op, promise: histories.Never, doubt: histories.Never, closed: -1, renewed: -1}
	g.Lease = Lease{Op: place, Lock: text(op.Lock), Process: text(op.Process), Grant: text(id), Token: number(op.Token),
		Begin: op.Return, Believes: histories.Never, Gone: histories.Never}
	if ttl := op.EffectiveTTL(); ttl > 0 {
		g.promise = after(op.Invoke, ttl)
	}
	return g
}

// grantID is the id of a worker's nth ok acquire, if the history names no other.
func grantID(process string, n int) string { return fmt.Sprintf("%s.%d", process, n) }

// after adds ms to a time without running over.
func after(ns, ms int64) int64 {
	if ms > (histories.Never-max(ns, 0))/1e6 {
		return histories.Never
	}
	return ns + ms*1e6
}

func number(o histories.Option[int64]) string {
	if v, ok := o.Get(); ok {
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func (b *book) take(op *histories.Operation) {
	switch {
	case op.Process == histories.Store:
		if op.F == histories.Expire || op.F == histories.Revoke {
			b.endLine(op)
		}
	case op.Process == histories.Nemesis:
		if op.F == histories.Kill {
			b.kill(op)
		}
	case op.F == histories.Renew && op.Type == histories.OK:
		b.renew(op)
	case op.F == histories.Release:
		b.release(op)
	case op.F == histories.Lost:
		b.learn(op, op.Invoke)
	case op.F == histories.Check && op.Type == histories.OK && !op.Held.Or(true):
		b.learn(op, op.Return)
	}
}

// own is the grant of which a worker's operation on a lock speaks: the one that
// it names, else the newest that it had when it spoke.
func (b *book) own(op *histories.Operation) *grant {
	if op.Grant != "" {
		return b.byID[op.Grant]
	}
	grants := b.of[holder{op.Lock, op.Process}]
	later := sort.Search(len(grants), func(i int) bool { return grants[i].Begin > op.Invoke })
	if later == 0 {
		return nil
	}
	return grants[later-1]
}

// learn ends the belief in a grant.
func (b *book) learn(op *histories.Operation, at int64) {
	if g := b.own(op); g != nil {
		g.Believes = min(g.Believes, max(at, g.Begin))
	}
}

func (b *book) kill(op *histories.Operation) {
	grants := b.by[op.Target]
	for len(grants) > 0 && grants[0].Begin <= op.Invoke {
		grants[0].Believes = min(grants[0].Believes, op.Invoke)
		grants = grants[1:]
	}
	b.by[op.Target] = grants
}

func (b *book) renew(op *histories.Operation) {
	g := b.renewed(op)
	if g == nil {
		return
	}
	g.renewed = op.Invoke
	ttl := op.EffectiveTTL()
	if ttl == 0 {
		ttl = g.acquire.EffectiveTTL()
	}
	if ttl > 0 && g.promise != histories.Never {
		g.promise = max(g.promise, after(op.Invoke, ttl))
	}
}

// renewed is the grant that a renewal serves. A client that waits in acquire
// keeps its session alive meanwhile: that serves the grant which it waits for.
func (b *book) renewed(op *histories.Operation) *grant {
	if op.Grant == "" {
		grants := b.of[holder{op.Lock, op.Process}]
		next := sort.Search(len(grants), func(i int) bool { return grants[i].Begin > op.Invoke })
		if next < len(grants) && grants[next].acquire.Invoke <= op.Invoke {
			return grants[next]
		}
	}
	return b.own(op)
}

// release ends the belief when it is asked for, and the hold when it is answered.
func (b *book) release(op *histories.Operation) {
	g := b.own(op)
	if g == nil || op.HoldsLeft.Or(0) > 0 {
		return
	}
	g.Believes = min(g.Believes, op.Invoke)
	if op.Type == histories.Info {
		g.doubt = min(g.doubt, op.Invoke)
	}
	if op.Type != histories.OK {
		return
	}
	g.released(op)
	// It leaves no hold: the nested grants of the worker end with it.
	grants := b.of[holder{g.lock, g.process}]
	for i := slices.Index(grants, g) - 1; i >= 0 && grants[i].Gone == histories.Never; i-- {
		grants[i].released(op)
	}
}

func (g *grant) released(op *histories.Operation) {
	g.Believes = min(g.Believes, op.Invoke)
	if op.Return < g.Gone {
		g.Gone, g.Ended = op.Return, "released"
	}
}

// endLine gives what the store was seen to do to the oldest grant of that worker
// that may still be open.
func (b *book) endLine(op *histories.Operation) {
	key := holder{op.Lock, op.Target}
	grants := b.open[key]
	for len(grants) > 0 && grants[0].shut(op.Invoke) {
		grants = grants[1:]
	}
	b.open[key] = grants
	if len(grants) == 0 || grants[0].acquire.Invoke > op.Invoke {
		return
	}
	g := grants[0]
	g.closed = op.Invoke
	if op.Invoke < g.Gone {
		g.Gone, g.Ended = op.Invoke, "expired"
		if op.F == histories.Revoke {
			g.Ended = "revoked"
		}
	}
}

// shut tells whether an end line at a time can no longer mean the grant.
func (g *grant) shut(at int64) bool {
	return g.Ended == "released" && g.Gone <= at || g.closed >= 0 && g.renewed <= g.closed
}

// settle decides how far a grant reached, once everything about it is known.
func (b *book) settle(g *grant) Lease {
	// The store granted the lock to somebody else after its promise had run out:
	// this one had ended by then. While the promise stands both hold, and the
	// picture shows it.
	if next := b.successor(g); next != nil && g.promise < next.Begin && next.Begin < g.Gone {
		g.Gone = next.Begin
		if g.Ended != "expired" && g.Ended != "revoked" {
			g.Ended = "successor"
		}
	}
	l := g.Lease
	l.Sure = l.Gone
	if l.Ended == "" || l.Ended == "successor" {
		l.Sure = min(g.drawn(), g.doubt, l.Gone)
	}
	end := max(b.x.end, l.Begin)
	l.Believes = max(min(l.Believes, end), l.Begin)
	l.Gone = max(min(l.Gone, end), l.Begin)
	l.Sure = max(min(l.Sure, l.Gone), l.Begin)
	return l
}

// drawn is until when the bar of a hold reaches if nothing ended it. A promise is
// counted from its invocation, for nothing else is certain; but an acquire that
// waited longer than its ttl would then hold nothing, and its lease most likely
// began with the answer. Nobody is accused because of this bar.
func (g *grant) drawn() int64 {
	if g.promise > g.Begin {
		return g.promise
	}
	return after(g.Begin, g.acquire.EffectiveTTL())
}

// maxAhead is how many later grants are looked at for a successor. Not finding
// one leaves the end of a lease open, which accuses nobody.
const maxAhead = 1000

// successor is the first grant of another worker that certainly comes later: by
// token, else by real time.
func (b *book) successor(g *grant) *grant {
	token, known := g.acquire.Token.Get()
	later := b.byLock[g.lock][g.rank:]
	for _, o := range later[:min(len(later), maxAhead)] {
		if o.process == g.process || o.acquire.Mode != "" || g.acquire.Mode != "" {
			continue
		}
		other, ok := o.acquire.Token.Get()
		if ok && known && other > token || !(ok && known) && o.acquire.Invoke > g.Begin {
			return o
		}
	}
	return nil
}
