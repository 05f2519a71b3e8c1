package model

import (
	"errors"
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
)

// ErrUnknownGrant says that an operation names a grant (grant=, under=) that its
// worker never named on an acquire.
var ErrUnknownGrant = errors.New("no grant of this worker")

// Grant is one hold of one lock by one worker: an acquire that was answered ok.
type Grant struct {
	ID      string // "worker.n", or the name that the acquire gives it
	Worker  string
	Lock    string
	Token   histories.Option[int64]
	Acquire int   // place in History.Ops
	Invoke  int64 // of the acquire, ns
	Return  int64 // of the acquire, ns

	place rank
}

// Book says to which grant every operation of a history belongs, and how the
// grants of each lock are ordered.
type Book struct {
	History *histories.History
	Grants  []*Grant // in the order of their acquires' invocations

	own    []*Grant // by operation
	under  []*Grant
	locks  []string
	orders map[string]*lockOrder

	stops   []*Stop
	stopsOf map[string][]*Stop
}

// Own is the grant of its own worker to which an operation belongs, nil if none.
// An ok acquire belongs to the grant that it opens.
func (b *Book) Own(op int) *Grant { return b.own[op] }

// Under is the grant under which a written value was decided, nil if none.
func (b *Book) Under(op int) *Grant { return b.under[op] }

// Lock is the lock of an operation: the one that it names, or the one that guards
// its resource; "" if none is known.
func (b *Book) Lock(op int) string { return b.locks[op] }

// holdings are the grants of one worker on one lock, so far.
type holdings struct {
	last *Grant
	open []*Grant // not released, and some that were: those are dropped once they are the last
	gone map[*Grant]bool
}

func (h *holdings) add(g *Grant) {
	h.last, h.open = g, append(h.open, g)
}

// newest is the newest grant that was not released, else the newest.
func (h *holdings) newest() *Grant {
	if h == nil {
		return nil
	}
	if n := len(h.open); n > 0 {
		return h.open[n-1]
	}
	return h.last
}

// released: a failed release releases nothing.
func (h *holdings) released(g *Grant) {
	if n := len(h.open); n == 0 || h.open[n-1] != g {
		if h.gone == nil {
			h.gone = map[*Grant]bool{}
		}
		h.gone[g] = true
		return
	}
	h.open = h.open[:len(h.open)-1]
	for n := len(h.open); n > 0 && h.gone[h.open[n-1]]; n = len(h.open) {
		h.open = h.open[:n-1]
	}
}

type holder struct{ worker, name string }

// resolver walks over the operations once, in the order in which each worker did
// them.
type resolver struct {
	*Book
	holds  map[holder]*holdings // by lock
	byID   map[holder]*Grant    // by grant id, so far
	named  map[holder]bool      // by grant id: named by any acquire of the worker, ever
	count  map[string]int
	guards *histories.Guards
}

// Resolve finds the grant and the lock of every operation. The one error is an
// operation that names a grant which its worker never named ([ErrUnknownGrant]).
//
// A renewal or release may name a grant whose acquire was never answered ok: such
// an operation belongs to no grant.
func Resolve(h *histories.History) (*Book, error) {
	n := len(h.Ops)
	r := &resolver{
		Book:  &Book{History: h, own: make([]*Grant, n), under: make([]*Grant, n), locks: make([]string, n)},
		holds: map[holder]*holdings{}, byID: map[holder]*Grant{}, named: map[holder]bool{},
		count: map[string]int{}, guards: histories.NewGuards(h),
	}
	for i := range h.Ops {
		if o := &h.Ops[i]; o.ByWorker() && o.F == histories.Acquire && o.Grant != "" {
			r.named[holder{o.Process, o.Grant}] = true
		}
	}
	for i := range h.Ops {
		if err := r.operation(i); err != nil {
			return nil, err
		}
	}
	r.sortGrants()
	r.findStops()
	return r.Book, nil
}

func (r *resolver) operation(i int) error {
	o := &r.History.Ops[i]
	if !o.ByWorker() {
		return nil
	}
	r.locks[i] = r.lockOf(o)
	if o.F == histories.Acquire {
		r.acquire(i)
		return nil
	}
	own, err := r.pick(o, o.Grant, r.holds[holder{o.Process, r.locks[i]}].newest())
	if err != nil {
		return err
	}
	under, err := r.pick(o, o.Under, own)
	if err != nil {
		return err
	}
	r.own[i], r.under[i] = own, under
	if r.locks[i] == "" && own != nil {
		r.locks[i] = own.Lock
	}
	if o.F == histories.Release && o.Type != histories.Fail && own != nil {
		r.holds[holder{o.Process, own.Lock}].released(own)
	}
	return nil
}

func (r *resolver) lockOf(o *histories.Operation) string {
	if o.Lock != "" || !o.F.OnResource() {
		return o.Lock
	}
	return r.guards.Of(o.Resource)
}

// pick is the grant that the operation names, or else the given one.
func (r *resolver) pick(o *histories.Operation, id string, otherwise *Grant) (*Grant, error) {
	if id == "" {
		return otherwise, nil
	}
	key := holder{o.Process, id}
	if g := r.byID[key]; g != nil || r.named[key] {
		return g, nil
	}
	return nil, fmt.Errorf("%s:%d: find grant %q of %q: %w", r.History.Source, o.Line, id, o.Process, ErrUnknownGrant)
}

func (r *resolver) acquire(i int) {
	o := &r.History.Ops[i]
	if o.Type != histories.OK {
		return
	}
	r.count[o.Process]++
	g := &Grant{ID: o.Grant, Worker: o.Process, Lock: o.Lock, Token: o.Token, Acquire: i, Invoke: o.Invoke, Return: o.Return}
	if g.ID == "" {
		g.ID = fmt.Sprintf("%s.%d", o.Process, r.count[o.Process])
	}
	r.byID[holder{o.Process, g.ID}] = g
	r.own[i], r.under[i] = g, g
	r.Grants = append(r.Grants, g)
	key := holder{o.Process, o.Lock}
	if r.holds[key] == nil {
		r.holds[key] = &holdings{}
	}
	r.holds[key].add(g)
}
