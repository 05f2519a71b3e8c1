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
}

// Fault names the cell's fault: "pause-checked", "pause-checked-until-read", "pause-random", "noop".
func (p *Plan) fault(c Cell) string {
	switch {
	case p.Config.Fault == FaultNoop:
		return FaultNoop
	case p.Config.Mode == workload.Random:
		return p.Config.Fault + "-random"
	case p.Config.Until != UntilWritten:
		return p.Config.Fault + "-" + string(c.Point) + "-until-" + string(p.Config.Until)
	}
	return p.Config.Fault + "-" + string(c.Point)
}

// Name is the cell's name: lock/resource/guard/fence/fault.
func (p *Plan) Name(c Cell) string {
	return strings.Join([]string{c.LockName(), c.Resource.Name, string(c.Guard), string(c.Fence), p.fault(c)}, "/")
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
	c.Locks, c.Resources, c.Guards, c.Points = distinct(c.Locks), distinct(c.Resources), distinct(c.Guards), distinct(c.Points)
	p := &Plan{Config: c}
	points := c.Points
	if c.Mode == workload.Random || c.Fault == FaultNoop {
		points = []histories.Point{""}
	}
	for _, pair := range p.pairs() {
		if err := p.addPair(cat, pair, points); err != nil {
			return nil, err
		}
	}
	if len(c.Endpoints) > 0 {
		return p, p.oneStore()
	}
	return p, nil
}

// pairs are the combinations of lock and resource: the product, and those that were
// named.
func (p *Plan) pairs() []string {
	var out []string
	for _, l := range p.Config.Locks {
		for _, r := range p.Config.Resources {
			out = append(out, l+"/"+r)
		}
	}
	return distinct(append(out, p.Config.Pairs...))
}

func (p *Plan) addPair(cat Catalog, pair string, points []histories.Point) error {
	lockName, resourceName, ok := strings.Cut(pair, "/")
	if !ok {
		return usagef("--pair %q: it is LOCK/RESOURCE", pair)
	}
	if p.Config.Token != "" {
		lockName = withToken(lockName, p.Config.Token)
	}
	l, topology, err := cat.lock(lockName)
	if err != nil {
		return err
	}
	if err := p.obtainable(cat, l.Store, topology); err != nil {
		return err
	}
	r, err := cat.resource(resourceName)
	if err != nil {
		return err
	}
	return p.addAll(Cell{Lock: l, Topology: topology, OwnTopo: !strings.Contains(lockName, "@"), Resource: r}, points)
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
func (p *Plan) obtainable(cat Catalog, name string, t store.Topology) error {
	s, err := cat.store(name)
	if err != nil {
		return err
	}
	_, err = s.provider(p.Config.Provision, t)
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

func (p *Plan) addAll(c Cell, points []histories.Point) error {
	for _, c.Guard = range p.Config.Guards {
		for _, c.Point = range points {
			if err := p.add(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// add appends the cells of all fences of one combination, and their control.
func (p *Plan) add(c Cell) error {
	pause, err := p.pause(c.Lock)
	if err != nil {
		return err
	}
	if err := p.vacuous(c); err != nil {
		return err
	}
	c.Pause = pause
	fences := distinct(p.Config.Fences)
	fenced := slices.ContainsFunc(fences, func(f histories.Fence) bool { return f != histories.FenceOff })
	if fenced && !c.Lock.Tokens && len(p.pairs()) > 1 {
		// Among others it shows what being without tokens means: nothing can fence it.
		c.Fence, c.Expect = histories.FenceOff, ExpectViolation
		if p.Config.Expect != ExpectUnset {
			c.Expect = p.Config.Expect
		}
		p.Cells = append(p.Cells, c)
		return nil
	}
	if fenced && !c.Lock.Tokens {
		return usagef("--fence: %s issues no fencing tokens, so no resource can fence its holders; use --fence off"+
			" (for redis-set, --token counter draws a number in a second step: known to be bad, and there to be looked at)", c.Lock.Name)
	}
	added := fenced && !slices.Contains(fences, histories.FenceOff) && !p.Config.NoControl && p.Config.Fault != FaultNoop
	if added {
		fences = append([]histories.Fence{histories.FenceOff}, fences...)
	}
	order := map[histories.Fence]int{histories.FenceOff: 0, histories.FenceWrites: 1, histories.FenceAll: 2}
	slices.SortFunc(fences, func(a, b histories.Fence) int { return order[a] - order[b] })
	for _, f := range fences {
		c.Fence = f
		c.Control = fenced && f == histories.FenceOff && (added || p.Config.Expect == ExpectUnset) && p.Config.Fault != FaultNoop
		c.Controlled = f != histories.FenceOff && slices.Contains(fences, histories.FenceOff)
		c.Expect = p.Config.Expect
		switch {
		case c.Control:
			c.Expect = ExpectViolation
		case c.Expect == ExpectUnset:
			c.Expect = ExpectClean
		}
		p.Cells = append(p.Cells, c)
	}
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
func (p *Plan) pause(l Lock) (time.Duration, error) {
	if l.NoTTL {
		return max(p.Config.Pause, 2*Margin), nil // the lease ends when its session is killed
	}
	ttl := l.Effective(p.Config.TTL)
	slack := l.Slack
	if l.SlackOf != nil {
		slack = l.SlackOf(ttl)
	}
	need := ttl + slack + l.LockDelay + l.Poll + Margin
	if p.Config.Pause == 0 {
		return need, nil
	}
	if p.Config.Pause >= need {
		return p.Config.Pause, nil
	}
	ttlText := fmt.Sprintf("%s ttl", ttl)
	if ttl > p.Config.TTL {
		ttlText += fmt.Sprintf(" (what the store makes of the %s asked for)", p.Config.TTL)
	}
	return 0, usagef("--pause %s is too short for %s: it needs %s = %s + %s expiry slack + %s lock-delay + %s poll + %s margin;"+
		" a shorter pause may end before anybody else can be granted the lock, and would prove nothing",
		p.Config.Pause, l.Name, need, ttlText, slack, l.LockDelay, l.Poll, Margin)
}

// vacuous refuses a code point from which no stale write can come. Expecting
// anything at all is a way to look at one all the same.
func (p *Plan) vacuous(c Cell) error {
	switch able := c.Lock.KillSession != nil; {
	case p.Config.Fault == FaultSessionKill && !able:
		return usagef("--fault session-kill: nobody but its holder can end a session of %s", c.Lock.Name)
	case p.Config.Fault == FaultSessionKill && p.Config.Mode == workload.Random:
		return usagef("--fault session-kill needs --mode directed: it ends the session of a holder that is stopped")
	case c.Lock.NoTTL && p.Config.Fault == FaultPause:
		return usagef("--fault pause can't take %s from its holder: its lease has no time to live and ends with the session,"+
			" and the kernel goes on answering for a stopped process; it needs --fault session-kill", c.Lock.Name)
	}
	if c.Point == "" || p.Config.Expect == ExpectAny {
		return nil
	}
	if p.Config.Until == UntilGranted {
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
