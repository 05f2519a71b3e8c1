package exact_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// chaos makes small random histories of a lock and the resource behind it, without a
// model of either: anything may follow anything, as long as each worker does one thing
// after the other. What it draws is biased so that workers mostly use what they have.
type chaos struct {
	*rand.Rand
	tick    int64 // ns; long ones for locks without a ttl, where the bound is a minute
	ttls    []int64
	tokens  int64 // the last token; -1: the lock issues none
	sticky  bool  // a worker gets its old token again
	renews  bool
	faults  float64
	unknown float64
	refused float64
	shared  bool
	two     bool // locks
	grants  map[string]int
	mine    map[string]int64
	h       *histories.History
}

func guardHistory(r *rand.Rand) *histories.History {
	w := &chaos{
		Rand: r, tick: 1_000_000, ttls: [][]int64{{0}, {3}, {5, 8}, {0, 4}}[r.IntN(4)], renews: r.IntN(3) > 0, sticky: r.IntN(3) == 0,
		faults: []float64{0, 0.1, 0.3}[r.IntN(3)], unknown: []float64{0, 0.1, 0.3}[r.IntN(3)], refused: []float64{0.1, 0.3, 0.6}[r.IntN(3)],
		shared: r.IntN(12) == 0, two: r.IntN(4) == 0, grants: map[string]int{}, mine: map[string]int64{}, h: &histories.History{},
	}
	w.h.Header = histories.Header{Fence: histories.FenceWrites, Tokens: histories.TokensOrdered, Guards: []histories.Guard{{Lock: "L", Resource: "R"}}}
	if r.IntN(3) == 0 {
		w.tokens, w.h.Header.Tokens = -1, histories.TokensNone
	}
	if w.ttls[0] == 0 {
		w.tick = 10_000_000_000
	}
	if w.shared {
		w.h.Header.Needs = []string{"shared"}
	}
	for k := range 1 + r.IntN(3) {
		w.worker(string(rune('A' + k)))
	}
	for w.chance(w.faults + 0.1) {
		w.event()
	}
	sortOps(w.h)
	w.number()
	if r.IntN(3) == 0 {
		last := int64(0)
		for _, o := range w.h.Ops {
			if last = max(last, o.Invoke); o.Return != histories.Never {
				last = max(last, o.Return)
			}
		}
		w.h.Header.End = histories.Some(last + w.Int64N(20)*w.tick)
	}
	return w.h
}

func (w *chaos) chance(p float64) bool { return w.Float64() < p }

// number gives the operations what depends on their order: tokens and grants.
func (w *chaos) number() {
	for i := range w.h.Ops {
		o := &w.h.Ops[i]
		o.ID = int64(i)
		switch {
		case !o.ByWorker():
		case o.F == histories.Acquire && o.Type == histories.OK:
			w.grants[o.Process]++
			if w.tokens >= 0 {
				if _, had := w.mine[o.Process]; !had || !w.sticky || w.chance(0.3) {
					w.tokens++
					w.mine[o.Process] = w.tokens
				}
				o.Token = histories.Some(w.mine[o.Process])
			}
		case o.F.OnResource():
			if w.tokens >= 0 && w.chance(0.6) {
				o.Token = histories.Some(w.mine[o.Process])
				if w.chance(0.1) {
					o.Token = histories.Some(w.Int64N(w.tokens + 1))
				}
			}
			fallthrough
		default:
			if n := w.grants[o.Process]; n > 0 && o.F != histories.Acquire && w.chance(0.2) {
				o.Grant = fmt.Sprintf("%s.%d", o.Process, 1+w.IntN(n))
			}
			if n := w.grants[o.Process]; n > 0 && o.F == histories.Write && w.chance(0.1) {
				o.Under = fmt.Sprintf("%s.%d", o.Process, 1+w.IntN(n))
			}
		}
	}
}

// worker makes one worker's line of operations.
func (w *chaos) worker(name string) {
	clock, open := w.Int64N(4), false
	for range 1 + w.IntN(7) {
		o := histories.Operation{Process: name, Lock: w.lock(), Type: histories.OK, F: w.function(open)}
		o.Invoke = clock + w.Int64N(4)
		o.Return = o.Invoke + w.Int64N(3)
		if w.IntN(8) == 0 {
			o.Return += w.Int64N(30)
		}
		clock = o.Return
		w.answer(&o)
		switch {
		case o.F == histories.Acquire && o.Type == histories.OK:
			open = true
		case o.F == histories.Release:
			open = w.chance(0.3)
		}
		last := o.Type == histories.Info && w.chance(0.3)
		o.Invoke, o.Return = o.Invoke*w.tick, o.Return*w.tick
		if last {
			o.Return, o.Error = histories.Never, ""
		}
		w.h.Ops = append(w.h.Ops, o)
		w.aside(&o)
		if last {
			return
		}
	}
}

func (w *chaos) lock() string {
	if w.two && w.IntN(4) == 0 {
		return "M"
	}
	return "L"
}

// aside is what a thread of the worker's client does meanwhile: it renews the lease, or
// tells that it is lost.
func (w *chaos) aside(beside *histories.Operation) {
	if !w.chance(0.2) || !w.renews {
		return
	}
	o := histories.Operation{Process: beside.Process, Lock: "L", Type: histories.OK, F: histories.Renew}
	if w.IntN(4) == 0 {
		o.F = histories.Lost
	}
	o.Invoke = beside.Invoke/w.tick + w.Int64N(4)
	o.Return = o.Invoke + w.Int64N(6)
	w.answer(&o)
	o.Invoke, o.Return = o.Invoke*w.tick, o.Return*w.tick
	w.h.Ops = append(w.h.Ops, o)
}

func (w *chaos) function(open bool) histories.F {
	some := []histories.F{histories.Acquire}
	if open {
		some = []histories.F{
			histories.Acquire, histories.Release, histories.Release, histories.Write, histories.Write, histories.Write,
			histories.Read, histories.Open, histories.Check, histories.Lost, histories.Renew, histories.Renew,
		}
		if !w.renews {
			some = some[:len(some)-2]
		}
	} else if w.IntN(4) == 0 {
		some = []histories.F{histories.Write, histories.Release, histories.Open, histories.Acquire}
	}
	return some[w.IntN(len(some))]
}

func (w *chaos) answer(o *histories.Operation) {
	switch {
	case o.F == histories.Lost:
		o.Return = o.Invoke
		return
	case w.chance(w.unknown):
		o.Type, o.Error = histories.Info, histories.ErrTimeout
	case w.chance(w.refused) && o.F != histories.Check:
		o.Type, o.Error = histories.Fail, histories.ErrHeld
	}
	switch {
	case o.F.OnResource():
		o.Resource, o.Lock = "R", ""
		if o.F == histories.Write {
			o.Value = histories.Some("v")
		}
		if o.Type == histories.Fail {
			o.Error = histories.ErrFenced
		}
	case o.F == histories.Acquire:
		o.TTLAsked = w.ttls[w.IntN(len(w.ttls))]
		if o.Type == histories.OK && o.TTLAsked > 0 && w.chance(0.1) {
			o.TTL = o.TTLAsked + w.Int64N(3)
		}
		if w.shared && w.chance(0.5) {
			o.Mode = "shared"
		}
	case o.F == histories.Renew && w.chance(0.2):
		o.TTLAsked = w.ttls[w.IntN(len(w.ttls))]
	case o.F == histories.Check && o.Type == histories.OK:
		o.Held = histories.Some(w.chance(0.6))
	case o.F == histories.Release && o.Type == histories.OK && w.chance(0.4):
		o.HoldsLeft = histories.Some(w.Int64N(3))
	}
}

// event is something that the nemesis or the store does.
func (w *chaos) event() {
	o := histories.Operation{Process: histories.Nemesis, Type: histories.OK, Invoke: w.Int64N(40) * w.tick}
	o.Return = o.Invoke + w.Int64N(3)*w.tick
	o.F = []histories.F{
		histories.Pause, histories.Pause, histories.Resume, histories.Kill, histories.Restart, histories.Partition, histories.Heal,
		"stall", histories.Note, histories.Expire, histories.Expire, histories.Revoke,
	}[w.IntN(12)]
	worker := string(rune('A' + w.IntN(3)))
	o.Target = []string{worker, worker, "n1", worker + "|n1"}[w.IntN(4)]
	if slices.Contains([]histories.F{histories.Expire, histories.Revoke}, o.F) {
		o.Process, o.Lock, o.Target = histories.Store, "L", worker
	}
	if w.IntN(6) == 0 {
		o.Type = []histories.Type{histories.Info, histories.Fail}[w.IntN(2)]
	}
	w.h.Ops = append(w.h.Ops, o)
}
