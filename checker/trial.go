package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// trialist finds the trials of a history.
type trialist struct {
	b       *model.Book
	h       *histories.History
	end     int64                     // of the history, ns
	byLock  map[string][]*model.Grant // by answer
	byGrant map[*model.Grant][]int    // operations on resources, in line order
	workers map[string][]int          // lock and resource operations, in line order
	of      map[string][]*model.Grant // of a worker, in line order
	gone    map[*model.Grant]int64    // the first release invoked
	lossy   map[int]bool              // writes that overwrote one unseen, or were overwritten so
}

// trials lists the pause episodes: every pause that the kernel confirmed, once for
// each lock that the stopped worker held (or was being granted), at least once.
func trials(b *model.Book, lossy map[int]bool) []Trial {
	t := newTrialist(b)
	t.lossy = lossy
	var out []Trial
	for i := range t.h.Ops {
		o := &t.h.Ops[i]
		if o.Process != histories.Nemesis || o.F != histories.Pause || o.Type != histories.OK {
			continue
		}
		episode := Trial{
			Process: o.Target, Point: o.Point, Pause: i, Resume: witness.Resume(t.h, i), Write: -1,
			StoppedNS: o.Return, ContinuedNS: t.end,
		}
		if episode.Resume >= 0 {
			episode.ContinuedNS = t.h.Ops[episode.Resume].Invoke
		}
		held := t.held(&episode)
		if len(held) == 0 {
			episode.Lock = t.lockAround(i, o.Target)
			out = append(out, t.judge(episode, nil))
			continue
		}
		for _, g := range held {
			episode.Lock, episode.Grant = g.Lock, g.ID
			out = append(out, t.judge(episode, g))
		}
	}
	return out
}

func newTrialist(b *model.Book) *trialist {
	t := &trialist{
		b: b, h: b.History, byLock: map[string][]*model.Grant{}, byGrant: map[*model.Grant][]int{},
		workers: map[string][]int{}, of: map[string][]*model.Grant{}, gone: map[*model.Grant]int64{},
	}
	t.end = b.History.Header.End.Or(0)
	for i := range t.h.Ops {
		o := &t.h.Ops[i]
		if t.end = max(t.end, o.Invoke); o.Return != histories.Never {
			t.end = max(t.end, o.Return)
		}
		if !o.ByWorker() {
			continue
		}
		t.workers[o.Process] = append(t.workers[o.Process], i)
		g := b.Own(i)
		if g == nil {
			continue
		}
		if o.F.OnResource() {
			t.byGrant[g] = append(t.byGrant[g], i)
		}
		if _, released := t.gone[g]; o.F == histories.Release && !released {
			t.gone[g] = o.Invoke
		}
	}
	for _, g := range b.Grants {
		t.byLock[g.Lock] = append(t.byLock[g.Lock], g)
		t.of[g.Worker] = append(t.of[g.Worker], g)
	}
	for _, list := range t.byLock {
		slices.SortStableFunc(list, func(a, g *model.Grant) int { return cmp.Compare(a.Return, g.Return) })
	}
	return t
}

// held are the grants that the worker held when it was stopped, the newest of each
// lock: answered by then, and no release invoked. If there is none, it is the one
// that it was being granted.
func (t *trialist) held(e *Trial) []*model.Grant {
	byLock := map[string]*model.Grant{}
	var open *model.Grant
	list := t.of[e.Process]
	for _, g := range list[:sort.Search(len(list), func(k int) bool { return list[k].Invoke > e.StoppedNS })] {
		switch gone, released := t.gone[g]; {
		case g.Return > e.StoppedNS:
			open = g
		case !released || gone > e.StoppedNS:
			byLock[g.Lock] = g
		default:
			delete(byLock, g.Lock) // an earlier one of the lock went with it, or is of no use
		}
	}
	if open != nil && (len(byLock) == 0 || e.Point == histories.PointLocked) {
		return []*model.Grant{open}
	}
	var out []*model.Grant
	for _, g := range list {
		if byLock[g.Lock] == g {
			out = append(out, g)
		}
	}
	return out
}

// lockAround is the lock of what the worker did last before the stop, or first after.
func (t *trialist) lockAround(stop int, worker string) string {
	ops := t.workers[worker]
	at := sort.SearchInts(ops, stop)
	for k := at - 1; k >= 0; k-- {
		if lock := t.b.Lock(ops[k]); lock != "" {
			return lock
		}
	}
	for _, i := range ops[at:] {
		if lock := t.b.Lock(i); lock != "" {
			return lock
		}
	}
	return ""
}

// judge fills in what came of the episode.
func (t *trialist) judge(e Trial, g *model.Grant) Trial {
	meanwhile := t.granted(&e)
	e.Takeover = len(meanwhile) > 0
	if e.Takeover {
		e.Successor = meanwhile[0].ID
	}
	var newer []*model.Grant
	for _, s := range meanwhile {
		if g != nil && model.Parted(g, s) {
			newer = append(newer, s)
		}
	}
	if g != nil {
		for _, w := range t.arrived(&e, g) {
			t.contest(&e, g, newer, w)
			e.LostUpdates += one(t.lossy[w])
		}
	}
	if !e.Conclusive {
		e.Why = t.why(&e, g, newer)
	}
	return e
}

// granted are the grants of other workers on the lock, answered between the
// confirmed stop and the continuation.
func (t *trialist) granted(e *Trial) []*model.Grant {
	list := t.byLock[e.Lock]
	from := sort.Search(len(list), func(k int) bool { return list[k].Return > e.StoppedNS })
	to := sort.Search(len(list), func(k int) bool { return list[k].Return > e.ContinuedNS })
	var out []*model.Grant
	for _, g := range list[from:max(from, to)] {
		if g.Worker != e.Process {
			out = append(out, g)
		}
	}
	return out
}

// contest looks at one write of the stopped worker's grant, and whether a successor
// had touched the resource by then.
func (t *trialist) contest(e *Trial, g *model.Grant, newer []*model.Grant, w int) {
	o := &t.h.Ops[w]
	touched := slices.IndexFunc(newer, func(s *model.Grant) bool { return t.touchedBefore(s, w) })
	switch {
	case touched >= 0:
		if e.Write < 0 {
			e.Write, e.Resource, e.Successor = w, o.Resource, newer[touched].ID
		}
		e.Attempted++
		e.Accepted += one(o.Type == histories.OK)
		e.Refused += one(o.Type != histories.OK)
		e.Conclusive = e.Point != histories.PointSent
	case len(newer) > 0 && o.Type == histories.OK && o.Invoke > newer[0].Return:
		e.ExposureNS = max(e.ExposureNS, o.Invoke-newer[0].Return)
	}
	lost := slices.ContainsFunc(newer, func(s *model.Grant) bool { return t.between(g, s, w) })
	e.ConclusiveLost = e.ConclusiveLost || lost && e.Point != histories.PointSent
}

// arrived are the writes of a grant that the resource accepted or refused, with an
// answer after the stop.
func (t *trialist) arrived(e *Trial, g *model.Grant) []int {
	var out []int
	for _, i := range t.byGrant[g] {
		o := &t.h.Ops[i]
		if o.F == histories.Write && (o.Type == histories.OK || o.Fenced()) && o.Return > e.StoppedNS {
			out = append(out, i)
		}
	}
	return out
}

// touchedBefore: an accepted operation of s that the fence counts came to the
// resource before write w.
func (t *trialist) touchedBefore(s *model.Grant, w int) bool {
	return t.any(s, func(i int, o *histories.Operation) bool {
		counted := o.F == histories.Write || t.h.Header.Fence == histories.FenceAll
		return counted && came(t.h, i, w)
	})
}

// between: write w of g lies between the successor's read and its write, and g had
// read, too: whoever is last overwrites what it has not seen.
func (t *trialist) between(g, s *model.Grant, w int) bool {
	read := func(i int, o *histories.Operation) bool { return o.F == histories.Read && came(t.h, i, w) }
	wrote := func(i int, o *histories.Operation) bool { return o.F == histories.Write && came(t.h, w, i) }
	on := t.h.Ops[w].Resource
	return t.anyOn(on, g, read) && t.anyOn(on, s, read) && t.anyOn(on, s, wrote)
}

func (t *trialist) any(g *model.Grant, want func(int, *histories.Operation) bool) bool {
	for _, i := range t.byGrant[g] {
		if o := &t.h.Ops[i]; o.Type == histories.OK && want(i, o) {
			return true
		}
	}
	return false
}

func (t *trialist) anyOn(resource string, g *model.Grant, want func(int, *histories.Operation) bool) bool {
	return t.any(g, func(i int, o *histories.Operation) bool { return o.Resource == resource && want(i, o) })
}

// came tells whether operation a came to the resource before operation b; both were
// answered. By the resource's own numbers, where both have one; at equal numbers an
// accepted write comes first.
func came(h *histories.History, a, b int) bool {
	x, y := &h.Ops[a], &h.Ops[b]
	if x.Resource != y.Resource {
		return false
	}
	n, numbered := x.Seq.Get()
	m, both := y.Seq.Get()
	switch {
	case numbered && both && n != m:
		return n < m
	case numbered && both:
		return wrote(x) && !wrote(y)
	case x.Process == y.Process:
		return a < b
	}
	return x.Return < y.Invoke
}

func wrote(o *histories.Operation) bool { return o.F == histories.Write && o.Type == histories.OK }

// why says what was missing for a trial to be conclusive.
func (t *trialist) why(e *Trial, g *model.Grant, newer []*model.Grant) string {
	touched := slices.ContainsFunc(newer, func(s *model.Grant) bool {
		return t.any(s, func(_ int, o *histories.Operation) bool {
			return o.F == histories.Write || t.h.Header.Fence == histories.FenceAll
		})
	})
	switch {
	case e.Write >= 0:
		return "the request was already on its way when the worker was stopped (point sent): a control"
	case g == nil:
		return "the stopped worker held no lease"
	case !e.Takeover:
		return "nobody else was granted the lock meanwhile"
	case len(newer) == 0:
		return "no grant meanwhile was certainly newer than the stopped worker's"
	case !touched:
		return "the successor did nothing that the fence counts"
	case e.Resume < 0:
		return "the worker was never continued"
	case len(t.arrived(e, g)) == 0:
		return "the old grant wrote nothing afterwards"
	}
	return "no write of the old grant certainly came after the successor's touch"
}
