package simulate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// history is the record of what happened.
func (w *world) history() *histories.History {
	h := &histories.History{Header: w.header()}
	slices.SortStableFunc(w.entries, func(a, b *entry) int { return cmp.Compare(a.Invoke, b.Invoke) })
	if w.Cut && w.lie != NeverFrees {
		h.Header.End = histories.Some(w.cut())
	}
	if w.lie == NeverFrees { // and nobody saw it free for a long time
		h.Header.End = histories.Some(w.now + 300_000*ms)
	}
	w.name()
	ids := map[string]int64{}
	for _, e := range w.entries {
		e.ID = ids[e.Process]
		ids[e.Process]++
		h.Ops = append(h.Ops, e.Operation)
	}
	return h
}

func (w *world) header() histories.Header {
	h := histories.Header{Fence: w.Fence, Tokens: histories.TokensOrdered, Initial: map[string]string{}}
	if w.Setting.Tokens == NoTokens {
		h.Tokens = histories.TokensNone
	}
	if w.Reentrant {
		h.Needs = []string{"reentrancy"}
	}
	for _, r := range w.resources {
		if w.Locks > 1 && !w.Explicit {
			h.Guards = append(h.Guards, histories.Guard{Lock: r.lock.name, Resource: r.name})
		}
		if r.start != "" {
			h.Initial[r.name] = r.start
		}
	}
	return h
}

// cut ends the record at some moment: nothing was seen after that.
func (w *world) cut() (end int64) {
	if n := len(w.entries); n > 0 {
		end = w.entries[n/2+w.IntN(n-n/2)].Invoke
	}
	w.entries = slices.DeleteFunc(w.entries, func(e *entry) bool { return e.Invoke > end })
	for _, e := range w.entries {
		if e.Return > end {
			e.unanswered()
		}
	}
	return end
}

// unanswered takes back all that the answer brought.
func (e *entry) unanswered() {
	asked := histories.Operation{
		Process: e.Process, F: e.F, Type: histories.Info, Invoke: e.Invoke, Return: histories.Never,
		Lock: e.Lock, Session: e.Session, TTLAsked: e.TTLAsked, Resource: e.Resource, Target: e.Target,
	}
	if !e.GrantLate {
		asked.Grant = e.Grant
	}
	if e.F == histories.Write {
		asked.Value = e.Value
	}
	if e.F.OnResource() {
		asked.Token = e.Token
	}
	e.Operation = asked
}

// holder is a worker and a lock.
type holder struct{ worker, lock string }

// name says to which grant an operation belongs, where that is not plain: an operation
// that names none belongs to its worker's newest grant of that lock that was not
// released, else to its newest.
func (w *world) name() {
	count, open, last := map[string]int{}, map[holder][]*hold{}, map[holder]*hold{}
	ids := map[*hold]string{}
	for _, e := range w.entries {
		if e.F == histories.Acquire && e.Type == histories.OK {
			count[e.Process]++
			h := e.hold
			if ids[h] = e.Grant; e.Grant == "" {
				ids[h] = fmt.Sprintf("%s.%d", e.Process, count[e.Process])
			}
			key := holder{e.Process, e.Lock}
			open[key], last[key] = append(open[key], h), h
			continue
		}
		if e.hold == nil {
			continue
		}
		key := holder{e.Process, e.hold.lock.name}
		plain := last[key]
		if list := open[key]; len(list) > 0 {
			plain = list[len(list)-1]
		}
		if e.hold != plain || !e.idle && w.chance(0.1) {
			if e.Grant = ids[e.hold]; e.Grant == "" {
				e.Grant = e.hold.name
			}
		}
		if e.under != nil && (e.under != e.hold || w.chance(0.5)) {
			e.Under = ids[e.under]
		}
		if e.F == histories.Release && e.Type != histories.Fail {
			open[key] = slices.DeleteFunc(open[key], func(h *hold) bool { return h == e.hold })
		}
	}
}
