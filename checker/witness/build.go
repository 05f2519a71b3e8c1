package witness

import (
	"fmt"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Build tells a case: the story, all operations that it names, and the history that
// they make.
func Build(b *model.Book, c Case) Witness {
	t := newTeller(b, c)
	w := Witness{
		Lock: t.lock, Resource: c.Resource.Name, Cause: t.cause(),
		Title: t.title(), Story: t.story(), Core: c.Core, Stale: c.pointAt(),
	}
	w.Ops = t.operations(w.Story)
	w.BeginNS, w.EndNS = span(b.History, w.Ops)
	w.Histories = subHistory(b, w.Ops)
	return w
}

// pointAt is the operation that broke the rule.
func (c *Case) pointAt() int {
	switch {
	case c.kind == lost:
		return c.write
	case c.kind == stale:
		return c.late
	}
	return c.Core[len(c.Core)-1]
}

func span(h *histories.History, ops []int) (begin, end int64) {
	begin = h.Ops[ops[0]].Invoke
	for _, i := range ops {
		o := &h.Ops[i]
		begin, end = min(begin, o.Invoke), max(end, o.Invoke)
		if o.Return != histories.Never {
			end = max(end, o.Return)
		}
	}
	return begin, end
}

// teller knows the history, and finds in it what a story needs.
type teller struct {
	*Case
	b       *model.Book
	h       *histories.History
	lock    string
	stop    *model.Stop // nil: that the older holder stood still does not explain it
	read    int         // what the older holder had read or opened before; -1: nothing
	again   int         // the base of its late write, if it read that after the stop; else -1
	check   int         // its last word that it still held the lock; -1: none
	refused int         // its write under the older grant that the resource refused, before it was granted the lock again; -1: none
	next    int         // the next read of the late write's value; -1: none
	end     leaseEnd
	said    []sentence
	between *model.Stop // the stop of one of two holders without an order; nil if none explains anything
}

func newTeller(b *model.Book, c Case) *teller {
	t := &teller{Case: &c, b: b, h: b.History, lock: b.Lock(c.Core[0]), read: -1, again: -1, check: -1, refused: -1, next: -1}
	if c.late < 0 {
		return t
	}
	if c.ordered() {
		t.lock = c.older.Lock
		t.end = t.findEnd()
		t.stop = t.findStop()
	} else {
		t.between = t.stopBetween()
	}
	t.findBefore()
	t.findRefused()
	t.findNext()
	return t
}

// cause is CausePaused if the older holder stood still, and that explains its late
// operation; or one of two without an order, and that explains the lost update.
func (t *teller) cause() histories.Cause {
	if t.stop != nil || t.between != nil {
		return histories.CausePaused
	}
	return histories.CauseUnknown
}

// findBefore finds what the late operation's worker did last under its grant before
// it was stopped, or before the late operation.
func (t *teller) findBefore() {
	until := t.late
	if t.stop != nil {
		until = t.stop.Pause
	}
	late, g := &t.h.Ops[t.late], t.b.Own(t.late)
	for i := range until {
		o := &t.h.Ops[i]
		if o.Process != late.Process || o.Type != histories.OK || t.b.Own(i) != g || o.Return > t.h.Ops[until].Invoke {
			continue
		}
		switch {
		case (o.F == histories.Read || o.F == histories.Open) && o.Resource == t.Resource.Name:
			t.read = i
		case o.F == histories.Check:
			if t.check = -1; o.Held.Or(false) {
				t.check = i
			}
		case o.F == histories.Lost:
			t.check = -1
		}
	}
	if t.write == t.late && t.base >= 0 {
		if t.stop != nil && t.h.Ops[t.base].Return > t.stop.From {
			t.again = t.base
		} else {
			t.read = t.base
		}
	}
}

// findRefused finds the first refusal of the older grant, if the late operation came
// under another one.
func (t *teller) findRefused() {
	if !t.ordered() || t.regranted() == nil {
		return
	}
	for i := t.older.Acquire; i < t.late; i++ {
		o := &t.h.Ops[i]
		if o.F == histories.Write && o.Fenced() && t.b.Own(i) == t.older && o.Resource == t.Resource.Name {
			t.refused = i
			return
		}
	}
}

// findNext finds the first read that shows what is left: the late write's value, and
// no other write can be the one that it shows.
func (t *teller) findNext() {
	last := t.late
	if t.kind == lost {
		last = t.write
	}
	o := &t.h.Ops[last]
	if o.F != histories.Write || o.Return == histories.Never {
		return
	}
	for i := last + 1; i < len(t.h.Ops); i++ {
		r := &t.h.Ops[i]
		if r.F != histories.Read || r.Resource != o.Resource || r.Type != histories.OK || r.Invoke <= o.Return {
			continue
		}
		if r.Value == o.Value && t.shows(i, last) {
			t.next = i
		}
		return
	}
}

// shows tells whether a read of a write's value certainly shows that write: no other
// one that may have come between wrote the same, and none certainly did come between.
func (t *teller) shows(read, write int) bool {
	for i := range t.h.Ops {
		o := &t.h.Ops[i]
		if i == write || o.F != histories.Write || o.Resource != t.h.Ops[write].Resource || o.Type == histories.Fail {
			continue
		}
		if t.came(i, write) || t.came(read, i) {
			continue
		}
		if o.Value == t.h.Ops[write].Value || t.came(write, i) && t.came(i, read) {
			return false
		}
	}
	return true
}

// came tells whether operation a certainly came to the resource before operation b.
func (t *teller) came(a, b int) bool {
	x, y := &t.h.Ops[a], &t.h.Ops[b]
	n, numbered := x.Seq.Get()
	m, both := y.Seq.Get()
	switch {
	case numbered && both && n == m:
		return x.F == histories.Write && y.F != histories.Write
	case numbered && both:
		return n < m
	case x.Type != histories.OK:
		return false
	case x.Process == y.Process:
		return a < b
	}
	return x.Return < y.Invoke
}

// operations are all that the story names, and what they need to be a history of
// their own: the acquires of their grants, and the writes of the values read.
func (t *teller) operations(story []Sentence) []int {
	in := map[int]bool{}
	add := func(list ...int) {
		for _, i := range list {
			if i >= 0 {
				in[i] = true
			}
		}
	}
	add(t.Core...)
	add(t.base, t.lost, t.write, t.late, t.touch, t.read, t.check, t.refused, t.next, t.end.op)
	for _, s := range story {
		add(s.Op)
	}
	if t.between != nil {
		add(t.between.Pause, t.between.Resume)
	}
	if t.stop != nil {
		add(t.stop.Pause, t.stop.Resume)
	}
	if t.ordered() && t.older.Worker == t.newer.Worker {
		if g := t.b.Between(t.older, t.newer); g != nil {
			add(g.Acquire)
		}
	}
	if t.kind == searchStale || t.kind == searchLost || t.kind == searchUnseen {
		t.allGrants(add)
	}
	t.closeUp(in)
	return keys(in, len(t.h.Ops))
}

// allGrants: what the search found illegal rests on the order of all grants of the
// locks involved.
func (t *teller) allGrants(add func(...int)) {
	locks := map[string]bool{}
	for _, i := range t.Core {
		locks[t.b.Lock(i)] = true
	}
	for _, g := range t.b.Grants {
		if locks[g.Lock] {
			add(g.Acquire)
		}
	}
}

func (t *teller) closeUp(in map[int]bool) {
	explainers := t.Resource.Explainers()
	todo := keys(in, len(t.h.Ops))
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		more := explainers.At(i)
		for _, g := range []*model.Grant{t.b.Own(i), t.b.Under(i)} {
			if g != nil {
				more = append(more, g.Acquire)
			}
		}
		for _, k := range more {
			if !in[k] {
				in[k] = true
				todo = append(todo, k)
			}
		}
	}
}

func keys(in map[int]bool, n int) []int {
	var list []int
	for i, yes := range in {
		if yes && i < n {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

func (t *teller) title() string {
	name := cut(t.Resource.Name)
	switch t.kind {
	case stale:
		return fmt.Sprintf("%s %s on %s under %s, after %s %s under %s", t.who(t.late), t.did(t.late), name,
			grantName(t.older), t.who(t.touch), t.did(t.touch), grantName(t.newer))
	case lost:
		return fmt.Sprintf("%s overwrote %s of %s, acknowledged by %s, with %s unseen",
			t.who(t.write), value(t.h, t.lost), t.who(t.lost), name, value(t.h, t.write))
	case orphan:
		return fmt.Sprintf("%s read %s from %s, which nobody wrote", t.who(t.Core[0]), value(t.h, t.Core[0]), name)
	}
	return fmt.Sprintf("no order of %s on %s is right", show.Count(len(t.Core), "operation"), name)
}

func (t *teller) who(op int) string { return "worker " + cut(t.h.Ops[op].Process) }

// cut makes a word from outside fit for a sentence.
func cut(word string) string {
	const longest = 40
	if word == "" {
		return `""`
	}
	return show.Cut(word, longest)
}

func value(h *histories.History, op int) string {
	v, known := h.Ops[op].Value.Get()
	if !known {
		return "something"
	}
	return cut(v)
}

func grantName(g *model.Grant) string {
	if token, known := g.Token.Get(); known {
		return fmt.Sprintf("token %d", token)
	}
	return "grant " + cut(g.ID)
}
