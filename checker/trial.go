package checker

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// maxTrials bounds the memory of trials: every pause makes one for each lock that
// its worker holds.
const maxTrials = 200_000

// trialist finds the trials of a history.
type trialist struct {
	ctx     context.Context
	b       *model.Book
	h       *histories.History
	end     int64                     // of the history, ns
	byLock  map[string][]*model.Grant // by answer
	byGrant map[*model.Grant][]int    // operations on resources, in line order
	workers map[string][]int          // lock and resource operations, in line order
	of      map[string][]*model.Grant // of a worker, in line order
	gone    map[*model.Grant]int64    // the first release invoked
	lossy   map[int]bool              // writes that overwrote one unseen, or were overwritten so
	numbers map[string]bool           // resources that are judged by their numbers alone
	steps   int                       // operations looked at
	over    bool                      // the context has ended
}

// done counts a step, and tells whether the context has ended.
func (t *trialist) done() bool {
	if t.steps++; t.steps%256 == 0 && t.ctx.Err() != nil {
		t.over = true
	}
	return t.over
}

// all lists the pause episodes: every stop that the kernel confirmed, once for each
// lock that the stopped worker held (or was being granted), at least once. It is not
// whole if the context ended before, or there are too many.
func (t *trialist) all() (out []Trial, whole bool) {
	held := t.held()
	for _, s := range t.b.Stops() {
		episode := Trial{
			Process: s.Worker, Point: t.h.Ops[s.Pause].Point, Pause: s.Pause, Resume: s.Resume, Write: -1,
			StoppedNS: s.From, ContinuedNS: min(s.To, t.end),
		}
		for _, g := range held[s] {
			if len(out) >= maxTrials || t.over {
				return out, false
			}
			episode.Lock, episode.Grant = g.Lock, g.ID
			out = append(out, t.judge(episode, g))
		}
		if len(held[s]) == 0 {
			episode.Lock = t.lockAround(s.Pause, s.Worker)
			out = append(out, t.judge(episode, nil))
		}
	}
	return out, !t.over
}

func newTrialist(ctx context.Context, b *model.Book) *trialist {
	t := &trialist{
		ctx: ctx, b: b, h: b.History, byLock: map[string][]*model.Grant{}, byGrant: map[*model.Grant][]int{},
		workers: map[string][]int{}, of: map[string][]*model.Grant{}, gone: map[*model.Grant]int64{},
		lossy: map[int]bool{}, numbers: map[string]bool{},
	}
	if len(b.Stops()) == 0 {
		return t
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

// held are the grants that the workers held when they were stopped, the newest of
// each lock: answered by then, and no release invoked. If there is none, it is the
// one that the worker was being granted.
func (t *trialist) held() map[*model.Stop][]*model.Grant {
	held := map[*model.Stop][]*model.Grant{}
	seen := map[string]bool{}
	for _, s := range t.b.Stops() {
		if !seen[s.Worker] {
			seen[s.Worker] = true
			t.heldBy(t.of[s.Worker], t.b.StopsOf(s.Worker), held)
		}
	}
	return held
}

// heldBy goes through one worker's grants and stops.
func (t *trialist) heldBy(grants []*model.Grant, stops []*model.Stop, held map[*model.Stop][]*model.Grant) {
	stops = slices.Clone(stops)
	slices.SortStableFunc(stops, func(a, s *model.Stop) int { return cmp.Compare(a.From, s.From) })
	newest, next := map[string]*model.Grant{}, 0 // by lock; an earlier grant goes with it, or is of no use
	for _, s := range stops {
		for ; next < len(grants) && grants[next].Return <= s.From; next++ {
			newest[grants[next].Lock] = grants[next]
		}
		for lock, g := range newest {
			if gone, released := t.gone[g]; released && gone <= s.From {
				delete(newest, lock)
			} else if len(held[s]) < maxTrials {
				held[s] = append(held[s], g)
			}
		}
		slices.SortFunc(held[s], func(a, g *model.Grant) int { return cmp.Compare(a.Acquire, g.Acquire) })
		asked := next < len(grants) && grants[next].Invoke <= s.From
		if asked && (len(held[s]) == 0 || t.h.Ops[s.Pause].Point == histories.PointLocked) {
			held[s] = []*model.Grant{grants[next]}
		}
	}
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
		if t.done() {
			break
		}
		if g.Worker != e.Process {
			out = append(out, g)
		}
	}
	return out
}

// contest looks at one write of the stopped worker's grant, and whether a successor
// had touched the resource by then: for a conclusive trial, while the worker stood
// still.
func (t *trialist) contest(e *Trial, g *model.Grant, newer []*model.Grant, w int) {
	o := &t.h.Ops[w]
	touched := slices.IndexFunc(newer, func(s *model.Grant) bool { return t.touchedBefore(s, w, histories.Never) })
	switch {
	case touched >= 0:
		if e.Write < 0 {
			e.Write, e.Resource, e.Successor = w, o.Resource, newer[touched].ID
		}
		e.Attempted++
		e.Accepted += one(o.Type == histories.OK)
		e.Refused += one(o.Type != histories.OK)
		e.Conclusive = e.Conclusive || e.Point != histories.PointSent &&
			slices.ContainsFunc(newer, func(s *model.Grant) bool { return t.touchedBefore(s, w, e.ContinuedNS) })
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
	ops := t.byGrant[g] // one after the other, so they were answered in this order
	for k := len(ops) - 1; k >= 0 && t.h.Ops[ops[k]].Return > e.StoppedNS && !t.done(); k-- {
		o := &t.h.Ops[ops[k]]
		if o.F == histories.Write && (o.Type == histories.OK || o.Fenced()) {
			out = append(out, ops[k])
		}
	}
	slices.Reverse(out)
	return out
}

// touchedBefore: an accepted operation of s that the fence counts came to the
// resource before write w, and was answered before a point in time.
func (t *trialist) touchedBefore(s *model.Grant, w int, by int64) bool {
	return t.any(s, func(i int, o *histories.Operation) bool {
		counted := o.F == histories.Write || t.h.Header.Fence == histories.FenceAll
		return counted && o.Return < by && t.came(i, w)
	})
}

// between: write w of g lies between the successor's read and its write, and g had
// read, too: whoever is last overwrites what it has not seen.
func (t *trialist) between(g, s *model.Grant, w int) bool {
	read := func(i int, o *histories.Operation) bool { return o.F == histories.Read && t.came(i, w) }
	wrote := func(i int, o *histories.Operation) bool { return o.F == histories.Write && t.came(w, i) }
	on := t.h.Ops[w].Resource
	return t.anyOn(on, g, read) && t.anyOn(on, s, read) && t.anyOn(on, s, wrote)
}

func (t *trialist) any(g *model.Grant, want func(int, *histories.Operation) bool) bool {
	for _, i := range t.byGrant[g] {
		if t.done() {
			return false
		}
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
// accepted write comes first. Where numbers and time contradict each other, only
// numbers count, as for the verdict.
func (t *trialist) came(a, b int) bool {
	x, y := &t.h.Ops[a], &t.h.Ops[b]
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
	case t.numbers[x.Resource]:
		return false
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
	case e.Write >= 0 && e.Point != histories.PointSent:
		return "the successor touched the resource only after the worker was told to go on"
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
