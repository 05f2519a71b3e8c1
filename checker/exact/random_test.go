package exact_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// world makes small random histories of a lock: workers on a coarse clock (so that
// times touch), each operation taking effect at one moment of its interval, on a
// store that makes a mistake now and then.
type world struct {
	*rand.Rand
	locks    int
	tokens   tokenKind
	mistakes float64
	unknown  float64
	lines    float64 // how often the store or the nemesis does something
	ttls     []int64
	shared   bool

	holder map[string]string   // by lock
	until  map[string]int64    // by lock, ms
	token  map[string]int64    // by lock
	mine   map[string]int64    // by worker and lock
	grants map[string]int      // by worker
	names  map[string][]string // by worker: of its grants, and of acquires without an answer
	holds  map[string]int      // by worker and lock
	extra  []histories.Operation
}

type tokenKind int

const (
	noTokens tokenKind = iota
	growing
	resetting
	sticky // every worker has a token of its own
)

type planned struct {
	op histories.Operation
	at float64 // ms, when it takes effect
}

const ms = 1_000_000

func randomHistory(r *rand.Rand) *histories.History { return historyOf(r, 3+r.IntN(12)) }

// longHistory has some hundred operations.
func longHistory(r *rand.Rand) *histories.History { return historyOf(r, 40+r.IntN(60)) }

func historyOf(r *rand.Rand, operations int) *histories.History {
	w := &world{
		Rand: r, locks: 1 + r.IntN(8)/7, tokens: []tokenKind{noTokens, noTokens, growing, growing, growing, resetting, sticky}[r.IntN(7)],
		mistakes: []float64{0, 0.05, 0.3}[r.IntN(3)], unknown: []float64{0, 0.1, 0.35}[r.IntN(3)], lines: []float64{0, 0.1, 0.3}[r.IntN(3)],
		ttls: [][]int64{{0}, {4, 9}, {0, 5, 20}, {3, 6, 12}}[r.IntN(4)], shared: r.IntN(12) == 0,
		holder: map[string]string{}, until: map[string]int64{}, token: map[string]int64{}, mine: map[string]int64{}, grants: map[string]int{}, names: map[string][]string{}, holds: map[string]int{},
	}
	plan := w.plan(operations)
	order := slices.Clone(plan)
	slices.SortStableFunc(order, func(a, b *planned) int { return cmp.Compare(a.at, b.at) })
	for _, p := range order {
		w.happen(p)
		w.line(p)
	}
	return w.history(plan)
}

func (w *world) history(plan []*planned) *histories.History {
	h := &histories.History{Header: histories.Header{Fence: histories.FenceOff, Tokens: histories.TokensOrdered}}
	if w.tokens == noTokens {
		h.Header.Tokens = histories.TokensNone
	}
	if w.shared {
		h.Header.Needs = []string{"shared"}
	}
	for _, p := range plan {
		h.Ops = append(h.Ops, p.op)
	}
	h.Ops = append(h.Ops, w.extra...)
	sortOps(h)
	for i := range h.Ops {
		h.Ops[i].ID = int64(i)
	}
	return h
}

func sortOps(h *histories.History) {
	slices.SortStableFunc(h.Ops, func(a, b histories.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
}

// plan gives every worker a line of operations, and some of them a keepalive thread
// whose renewals overlap them.
func (w *world) plan(operations int) []*planned {
	workers := 1 + w.IntN(3) + w.IntN(2)
	long := w.IntN(7)
	clock := make([]int64, workers)
	var plan []*planned
	for range operations {
		who := w.IntN(workers)
		p := &planned{op: histories.Operation{Process: string(rune('A' + who)), Type: histories.OK}}
		p.op.Invoke = clock[who] + w.Int64N(3)
		p.op.Return = p.op.Invoke + w.Int64N(int64(long)+1)
		if w.IntN(12) == 0 { // one that takes long
			p.op.Return += w.Int64N(25)
		}
		clock[who] = p.op.Return
		w.dress(p)
		plan = append(plan, p)
		for w.IntN(4) == 0 { // the keepalive thread
			k := &planned{op: histories.Operation{Process: p.op.Process, Type: histories.OK, F: histories.Renew}}
			k.op.Invoke = p.op.Invoke/ms + w.Int64N(4)
			k.op.Return = k.op.Invoke + w.Int64N(6)
			w.dress(k)
			plan = append(plan, k)
		}
	}
	slices.SortStableFunc(plan, func(a, b *planned) int { return cmp.Compare(a.op.Invoke, b.op.Invoke) })
	return plan
}

func (w *world) dress(p *planned) {
	p.at = float64(p.op.Invoke) + w.Float64()*float64(p.op.Return-p.op.Invoke) + w.Float64()/100
	p.op.Invoke *= ms
	p.op.Return *= ms
	if w.chance(w.unknown) {
		p.op.Type = histories.Info
		if w.chance(0.5) {
			p.at += 12 * w.Float64() // it lands when its worker has gone on
		}
	}
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

func (w *world) happen(p *planned) {
	o := &p.op
	o.Lock = fmt.Sprintf("L%d", w.IntN(w.locks))
	key := o.Process + o.Lock
	if o.F == "" {
		o.F = []histories.F{histories.Acquire, histories.Acquire, histories.Acquire, histories.Release, histories.Release, histories.Renew, histories.Renew, histories.Check, histories.Lost}[w.IntN(9)]
	}
	if w.chance(0.1) {
		o.Session = "s"
	}
	free := w.holder[o.Lock] == "" || w.holder[o.Lock] == o.Process || float64(w.until[o.Lock]) <= p.at
	mine := w.holder[o.Lock] == o.Process
	switch o.F {
	case histories.Acquire:
		o.TTLAsked = w.ttls[w.IntN(len(w.ttls))]
		if w.shared && w.chance(0.5) {
			o.Mode = "shared"
		}
		if !free && !w.chance(w.mistakes) {
			w.refuse(o)
			return
		}
		w.grant(p, key)
	case histories.Renew:
		if w.chance(0.2) {
			o.TTLAsked = w.ttls[w.IntN(len(w.ttls))]
		}
		w.name(o)
		if !mine && !w.chance(w.mistakes) {
			w.refuse(o)
			return
		}
		w.promise(p)
	case histories.Check:
		w.name(o)
		if held := mine && !w.chance(w.mistakes) || w.chance(w.mistakes); o.Type == histories.OK {
			o.Held = histories.Some(held)
		}
	case histories.Lost:
		w.name(o)
		o.Type, o.Return = histories.OK, o.Invoke
	case histories.Release:
		w.name(o)
		if !mine && !w.chance(w.mistakes) {
			w.refuse(o)
			return
		}
		w.release(o, key)
	}
}

func (w *world) refuse(o *histories.Operation) {
	if o.Type == histories.OK {
		o.Type, o.Error = histories.Fail, histories.ErrHeld
	}
}

// promise moves the end of the lease, but for a store that forgets.
func (w *world) promise(p *planned) {
	o := &p.op
	if w.chance(w.mistakes) {
		return
	}
	ttl := o.EffectiveTTL()
	if ttl == 0 {
		ttl = 1000
	}
	w.until[o.Lock] = int64(p.at) + ttl
}

func (w *world) grant(p *planned, key string) {
	o := &p.op
	named := w.chance(0.15)
	if named {
		o.Grant = fmt.Sprintf("%sx%d", o.Process, len(w.names[o.Process]))
		w.names[o.Process] = append(w.names[o.Process], o.Grant)
	}
	if o.Type != histories.OK && w.chance(0.5) {
		return
	}
	w.holder[o.Lock] = o.Process
	w.promise(p)
	switch {
	case w.tokens == sticky:
		w.token[o.Lock] = int64(o.Process[0])
	case w.tokens == resetting && w.chance(0.2):
		w.token[o.Lock] = w.Int64N(4)
	case w.mine[key] == w.token[o.Lock] && w.holds[key] > 0 && w.chance(0.4): // re-entry
	default:
		w.token[o.Lock]++
	}
	w.mine[key] = w.token[o.Lock]
	if o.Type != histories.OK {
		return
	}
	w.grants[o.Process]++
	if !named {
		w.names[o.Process] = append(w.names[o.Process], fmt.Sprintf("%s.%d", o.Process, w.grants[o.Process]))
	}
	w.holds[key]++
	if w.tokens != noTokens {
		o.Token = histories.Some(w.mine[key])
	}
	if w.chance(0.2) && o.TTLAsked > 0 { // what the store negotiated
		o.TTL = o.TTLAsked + w.Int64N(3)
	}
	if w.chance(0.2) {
		o.HoldsLeft = histories.Some(int64(w.holds[key]))
	}
}

func (w *world) release(o *histories.Operation, key string) {
	if o.Type == histories.OK && w.chance(0.4) {
		o.HoldsLeft = histories.Some(w.Int64N(2))
	}
	if o.Type == histories.OK || w.chance(0.5) {
		w.holds[key] = int(o.HoldsLeft.Or(0))
		if w.holds[key] == 0 {
			w.holder[o.Lock] = ""
		}
	}
}

// name: some operations name one of their worker's grants.
func (w *world) name(o *histories.Operation) {
	if names := w.names[o.Process]; len(names) > 0 && w.chance(0.3) {
		o.Grant = names[w.IntN(len(names))]
	}
}

// line: the store is seen to end a lease, or a worker is killed. Now and then it is
// known only between which two times, or not for certain.
func (w *world) line(p *planned) {
	if !w.chance(w.lines) {
		return
	}
	lock := fmt.Sprintf("L%d", w.IntN(w.locks))
	who := w.holder[lock]
	if who == "" || w.chance(0.2) {
		who = p.op.Process
	}
	at := (int64(p.at) + w.Int64N(2)) * ms
	o := histories.Operation{Process: histories.Store, Type: histories.OK, Invoke: at, Return: at, Lock: lock, Target: who}
	o.F = []histories.F{histories.Revoke, histories.Expire, histories.Expire, histories.Kill}[w.IntN(4)]
	if o.F == histories.Kill {
		o.Process, o.Lock = histories.Nemesis, ""
	}
	if w.chance(0.2) {
		o.Return += w.Int64N(5) * ms
	}
	if w.chance(0.1) {
		o.Type = []histories.Type{histories.Info, histories.Fail}[w.IntN(2)]
	}
	if w.holder[lock] == who {
		w.holder[lock] = ""
	}
	w.extra = append(w.extra, o)
}
