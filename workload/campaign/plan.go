package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// Plan is a campaign, resolved: every cell, what it is to show, and how long its
// pauses must be.
type Plan struct {
	Config Config
	Cells  []Cell
}

// Cell is one combination, to be run and judged by itself.
type Cell struct {
	Lock     Lock
	Topology store.Topology // of the lock's store
	OwnTopo  bool           // it is the one that the lock has unless another is asked for
	Resource Resource
	Guard    workload.Guard
	Fence    histories.Fence
	Point    histories.Point // "" in random mode and without a fault
	Expect   Expect
	Control  bool // beside a fenced cell: it must violate, or the fenced cell's silence means nothing
	// Controlled says that the same without a fence stands beside this cell.
	Controlled bool
	Pause      time.Duration // the least length
	Settings   Settings      // of the block that it belongs to
}

// FaultName names the cell's fault: "pause-checked", "pause-checked-until-read",
// "pause-random", "noop".
func (c Cell) FaultName() string {
	k := &c.Settings
	switch {
	case k.Fault == FaultNoop:
		return FaultNoop
	case k.Mode == workload.Random:
		return k.Fault + "-random"
	case k.Until != UntilWritten:
		return k.Fault + "-" + string(c.Point) + "-until-" + string(k.Until)
	}
	return k.Fault + "-" + string(c.Point)
}

// Name is the cell's name: lock/resource/guard/fence/fault.
func (c Cell) Name() string {
	return strings.Join([]string{c.LockName(), c.Resource.Name, string(c.Guard), string(c.Fence), c.FaultName()}, "/")
}

// LockName is the lock's name, with its topology if that is not the lock's own.
func (c Cell) LockName() string {
	if c.OwnTopo {
		return c.Lock.Name
	}
	return c.Lock.Name + "@" + string(c.Topology)
}

// NewPlan resolves a configuration, and refuses what can't show anything: pauses
// that are too short, and points from which no stale write can come. Its errors
// are of the kind UsageError.
func NewPlan(c Config, cat Catalog) (*Plan, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &Plan{Config: c}
	blocks := c.Cells
	if len(blocks) == 0 {
		blocks = []Settings{c.Settings}
	}
	for i := range blocks {
		if err := p.addBlock(cat, blocks[i]); err != nil {
			if len(c.Cells) > 0 {
				err = usagef("cells, block %d: %w", i+1, err)
			}
			return nil, err
		}
	}
	if err := p.distinctNames(); err != nil {
		return nil, err
	}
	if len(c.Endpoints) > 0 {
		if err := p.oneStore(); err != nil {
			return nil, err
		}
	}
	return p, p.spend()
}

// distinctNames refuses two cells of one name: they would overwrite each other.
func (p *Plan) distinctNames() error {
	seen := map[string]bool{}
	for _, c := range p.Cells {
		if seen[c.Name()] {
			return usagef("the cell %s is there twice", c.Name())
		}
		seen[c.Name()] = true
	}
	return nil
}

// plenty is more trials than any budget has room for.
const plenty = 1 << 20

// spend shares the budget out. Cells of one store follow each other, those of
// different stores run side by side: so the store with the most cells decides. A
// pause that has begun is not cut short, so the last one begins a pause's length before
// the share is used up.
func (p *Plan) spend() error {
	if p.Config.Budget == 0 {
		return nil
	}
	most, count := 0, map[storeKey]int{}
	for _, c := range p.Cells {
		count[c.storeKey()]++
		most = max(most, count[c.storeKey()])
	}
	for i := range p.Cells {
		c := &p.Cells[i]
		c.Settings.Trials = plenty
		c.Settings.TimeLimit = p.Config.Budget/time.Duration(most) - c.Pause
		if c.Settings.TimeLimit < c.Pause {
			return usagef("--budget %s is too short: %d cells follow each other on one store, and a pause of %s takes %s",
				p.Config.Budget, most, c.LockName(), c.Pause)
		}
	}
	return nil
}

// Trials is how many pauses the cell of that name will have, 0 if nobody knows.
func (p *Plan) Trials(cell string) int {
	for _, c := range p.Cells {
		if k := &c.Settings; c.Name() == cell && k.Mode == workload.Directed && k.Fault != FaultNoop && k.Trials < plenty {
			return k.Trials
		}
	}
	return 0
}

// storeKey names the store that the cell's lock lives in.
func (c Cell) storeKey() storeKey { return storeKey{c.Lock.Store, c.Topology} }

// block is a part of a plan, while it is resolved.
type block struct {
	*Plan
	Settings
	cat    Catalog
	points []histories.Point
}

func (p *Plan) addBlock(cat Catalog, k Settings) error {
	if err := k.check(); err != nil {
		return err
	}
	k.Locks, k.Resources, k.Guards, k.Points = distinct(k.Locks), distinct(k.Resources), distinct(k.Guards), distinct(k.Points)
	b := &block{Plan: p, Settings: k, cat: cat, points: k.Points}
	if k.Mode == workload.Random || k.Fault == FaultNoop {
		b.points = []histories.Point{""}
	}
	for _, pair := range b.pairs() {
		if err := b.addPair(pair); err != nil {
			return err
		}
	}
	return nil
}

// pairs are the combinations of lock and resource: the product, and those that were
// named.
func (b *block) pairs() []string {
	var out []string
	for _, l := range b.Locks {
		for _, r := range b.Resources {
			out = append(out, l+"/"+r)
		}
	}
	return distinct(append(out, b.Pairs...))
}

func (b *block) addPair(pair string) error {
	lockName, resourceName, ok := strings.Cut(pair, "/")
	if !ok {
		return usagef("--pair %q: it is LOCK/RESOURCE", pair)
	}
	if b.Token != "" {
		lockName = withToken(lockName, b.Token)
	}
	l, topology, err := b.cat.lock(lockName)
	if err != nil {
		return err
	}
	if err := b.obtainable(l.Store, topology); err != nil {
		return err
	}
	r, err := b.cat.resource(resourceName)
	if err != nil {
		return err
	}
	return b.addAll(Cell{Lock: l, Topology: topology, OwnTopo: !strings.Contains(lockName, "@"), Resource: r, Settings: b.Settings})
}

// withToken is the name of the lock's variant with tokens of that kind.
func withToken(lockName, token string) string {
	base, topology, at := strings.Cut(lockName, "@")
	if base += "+" + token; at {
		return base + "@" + topology
	}
	return base
}

// obtainable tells whether there is a way to have the store as it was asked for.
func (b *block) obtainable(name string, t store.Topology) error {
	s, err := b.cat.store(name)
	if err != nil {
		return err
	}
	_, err = s.provider(b.Config.Provision, t)
	return err
}

// oneStore refuses endpoints for a plan with several stores: nobody could tell
// whose they are.
func (p *Plan) oneStore() error {
	for _, c := range p.Cells {
		if c.Lock.Store != p.Cells[0].Lock.Store || c.Resource.Store != "" && c.Resource.Store != c.Lock.Store {
			return usagef("--endpoint: the plan has more than one store (%s, %s)", p.Cells[0].Lock.Store, max(c.Resource.Store, c.Lock.Store))
		}
	}
	return nil
}

func (b *block) addAll(c Cell) error {
	for _, c.Guard = range b.Guards {
		for _, c.Point = range b.points {
			if err := b.add(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add appends the cells of all fences of one combination, and their control.
func (b *block) add(c Cell) (err error) {
	if c.Pause, err = b.pause(c.Lock); err != nil {
		return err
	}
	if err := b.vacuous(c); err != nil {
		return err
	}
	fences := distinct(b.Fences)
	fenced := slices.ContainsFunc(fences, func(f histories.Fence) bool { return f != histories.FenceOff })
	if fenced && !c.Lock.Tokens {
		return b.addUnfenceable(c)
	}
	noop := b.Fault == FaultNoop
	added := fenced && !slices.Contains(fences, histories.FenceOff) && !b.NoControl && !noop
	if added {
		fences = append([]histories.Fence{histories.FenceOff}, fences...)
	}
	order := map[histories.Fence]int{histories.FenceOff: 0, histories.FenceWrites: 1, histories.FenceAll: 2}
	slices.SortFunc(fences, func(a, b histories.Fence) int { return order[a] - order[b] })
	for _, f := range fences {
		c.Fence = f
		c.Control = fenced && f == histories.FenceOff && (added || b.Expect == ExpectUnset) && !noop
		c.Controlled = f != histories.FenceOff && slices.Contains(fences, histories.FenceOff)
		c.Expect = b.Expect
		switch {
		case c.Control:
			c.Expect = ExpectViolation
		case c.Expect == ExpectUnset:
			c.Expect = ExpectClean
		}
		b.Plan.Cells = append(b.Plan.Cells, c)
	}
	return nil
}

// addUnfenceable takes a lock without tokens into a plan with fences. Among others it
// shows what being without tokens means: nothing can fence it. Alone it is refused.
func (b *block) addUnfenceable(c Cell) error {
	if len(b.pairs()) == 1 {
		return usagef("--fence: %s issues no fencing tokens, so no resource can fence its holders; use --fence off"+
			" (for redis-set, --token counter draws a number in a second step: known to be bad, and there to be looked at)", c.Lock.Name)
	}
	c.Fence, c.Expect = histories.FenceOff, ExpectViolation
	if b.Expect != ExpectUnset {
		c.Expect = b.Expect
	}
	b.Plan.Cells = append(b.Plan.Cells, c)
	return nil
}

// distinct drops what is there twice: two cells of one name would overwrite each other.
func distinct[T comparable](list []T) []T {
	var out []T
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Margin is added to what a lease needs before its pause counts as long enough.
const Margin = 500 * time.Millisecond

// pause is the least length of a pause, or the reason why the one asked for shows
// nothing: a pause that ends before the lease does is no pause at all.
func (b *block) pause(l Lock) (time.Duration, error) {
	if l.NoTTL {
		return max(b.Pause, 2*Margin), nil // the lease ends when its session is killed
	}
	ttl := l.Effective(b.TTL)
	slack := l.Slack
	if l.SlackOf != nil {
		slack = l.SlackOf(ttl)
	}
	need := ttl + slack + l.LockDelay + l.Poll + Margin
	if b.Pause == 0 {
		return need, nil
	}
	if b.Pause >= need {
		return b.Pause, nil
	}
	ttlText := fmt.Sprintf("%s ttl", ttl)
	if ttl > b.TTL {
		ttlText += fmt.Sprintf(" (what the store makes of the %s asked for)", b.TTL)
	}
	return 0, usagef("--pause %s is too short for %s: it needs %s = %s + %s expiry slack + %s lock-delay + %s poll + %s margin;"+
		" a shorter pause may end before anybody else can be granted the lock, and would prove nothing",
		b.Pause, l.Name, need, ttlText, slack, l.LockDelay, l.Poll, Margin)
}

// vacuous refuses a code point from which no stale write can come. Expecting
// anything at all is a way to look at one all the same.
func (b *block) vacuous(c Cell) error {
	switch able := c.Lock.KillSession != nil; {
	case b.Fault == FaultSessionKill && !able:
		return usagef("--fault session-kill: nobody but its holder can end a session of %s", c.Lock.Name)
	case b.Fault == FaultSessionKill && b.Mode == workload.Random:
		return usagef("--fault session-kill needs --mode directed: it ends the session of a holder that is stopped")
	case c.Lock.NoTTL && b.Fault == FaultPause:
		return usagef("--fault pause can't take %s from its holder: its lease has no time to live and ends with the session,"+
			" and the kernel goes on answering for a stopped process; it needs --fault session-kill", c.Lock.Name)
	}
	if c.Point == "" || b.Expect == ExpectAny {
		return nil
	}
	if b.Until == UntilGranted {
		return usagef("--until granted can't lead to a stale write: the successor has not touched the resource yet, and no fence could know of it." +
			" That is exposure, and nobody's violation (--expect any runs it, and counts it)")
	}
	refuse := func(why string) error {
		return usagef("--point %s with --guard %s can't lead to a stale write: %s (--expect any runs it all the same)", c.Point, c.Guard, why)
	}
	switch c.Point {
	case histories.PointSent:
		return refuse("the request has left before the pause, and arrives before anybody else is granted the lock; it is a control")
	case histories.PointBeforeRelease:
		return refuse("the write is done by then")
	case histories.PointBeforeRenew:
		if c.Lock.OwnThread {
			return refuse(c.Lock.Name + " renews on a thread of its own, and never passes this point")
		}
	case histories.PointLocked, histories.PointAcquired, histories.PointRead:
		if c.Guard == workload.GuardAsk {
			return refuse("the holder asks the store after the pause, and the store answers that the lease is gone")
		}
	}
	return nil
}
