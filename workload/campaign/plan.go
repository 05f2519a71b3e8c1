package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
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
	Resource Resource
	Guard    workload.Guard
	Fence    histories.Fence
	Point    histories.Point // "" in random mode and without a fault
	Expect   Expect
	Control  bool // beside a fenced cell: it must violate, or the fenced cell's silence means nothing
	Pause    time.Duration
}

// Fault names the cell's fault: "pause-checked", "pause-checked-until-read", "pause-random", "noop".
func (p *Plan) fault(c Cell) string {
	switch {
	case p.Config.Fault == FaultNoop:
		return FaultNoop
	case p.Config.Mode == workload.Random:
		return "pause-random"
	case p.Config.Until != UntilWritten:
		return "pause-" + string(c.Point) + "-until-" + string(p.Config.Until)
	}
	return "pause-" + string(c.Point)
}

// Name is the cell's name: lock/resource/guard/fence/fault.
func (p *Plan) Name(c Cell) string {
	return strings.Join([]string{c.Lock.Name, c.Resource.Name, string(c.Guard), string(c.Fence), p.fault(c)}, "/")
}

// NewPlan resolves a configuration, and refuses what can't show anything: pauses
// that are too short, and points from which no stale write can come. Its errors
// are of the kind UsageError.
func NewPlan(c Config, cat Catalog) (*Plan, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &Plan{Config: c}
	points := c.Points
	if c.Mode == workload.Random || c.Fault == FaultNoop {
		points = []histories.Point{""}
	}
	for _, lockName := range c.Locks {
		l, err := cat.lock(lockName)
		if err != nil {
			return nil, err
		}
		if _, err := cat.store(l.Store); err != nil {
			return nil, err
		}
		for _, resourceName := range c.Resources {
			r, err := cat.resource(resourceName)
			if err != nil {
				return nil, err
			}
			for _, g := range c.Guards {
				for _, point := range points {
					if err := p.add(Cell{Lock: l, Resource: r, Guard: g, Point: point}); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return p, nil
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
	fences := slices.Clone(p.Config.Fences)
	slices.Sort(fences)
	fences = slices.Compact(fences)
	fenced := slices.ContainsFunc(fences, func(f histories.Fence) bool { return f != histories.FenceOff })
	if fenced && !c.Lock.Tokens {
		return usagef("--fence: %s issues no fencing tokens, so no resource can fence its holders; use --fence off", c.Lock.Name)
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

// Margin is added to what a lease needs before its pause counts as long enough.
const Margin = 500 * time.Millisecond

// pause is the least length of a pause, or the reason why the one asked for shows
// nothing: a pause that ends before the lease does is no pause at all.
func (p *Plan) pause(l Lock) (time.Duration, error) {
	ttl := max(p.Config.TTL, l.LeastTTL)
	need := ttl + l.Slack + l.LockDelay + l.Poll + Margin
	if p.Config.Pause == 0 {
		return need, nil
	}
	if p.Config.Pause >= need {
		return p.Config.Pause, nil
	}
	ttlText := fmt.Sprintf("%s ttl", ttl)
	if ttl > p.Config.TTL {
		ttlText += fmt.Sprintf(" (the least that the store grants; %s was asked for)", p.Config.TTL)
	}
	return 0, usagef("--pause %s is too short for %s: it needs %s = %s + %s expiry slack + %s lock-delay + %s poll + %s margin;"+
		" a shorter pause may end before anybody else can be granted the lock, and would prove nothing",
		p.Config.Pause, l.Name, need, ttlText, l.Slack, l.LockDelay, l.Poll, Margin)
}

// vacuous refuses a code point from which no stale write can come. Expecting
// anything at all is a way to look at one all the same.
func (p *Plan) vacuous(c Cell) error {
	if c.Point == "" || p.Config.Expect == ExpectAny {
		return nil
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
