package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
)

const (
	randomGap    = 500 * time.Millisecond // mean time between two pauses on one lock
	randomSpread = 500 * time.Millisecond // a pause is up to so much longer than the least
)

// strikeAtRandom stops one worker of the lock after the other, from outside, at
// times that the seed decides, until the limit. The last pause is not cut short by
// the limit, only by ctx: a pause that ends early would prove nothing.
func (c *cellRun) strikeAtRandom(ctx, limit context.Context, lockIndex int) {
	workers := c.of(lockIndex)
	schedule := nemesis.Schedule{
		Targets: len(workers), Gap: randomGap, Least: c.cell.Pause, Spread: randomSpread,
		Rand: workload.Stream(uint64(c.plan.Config.Seed), c.name, lockName(lockIndex), "nemesis"),
	}
	for {
		s := schedule.Next()
		select {
		case <-time.After(s.After):
		case <-limit.Done():
			return
		}
		left := living(workers)
		if limit.Err() != nil || len(left) < 2 {
			return
		}
		victim := left[s.Target%len(left)]
		if err := nemesis.Hold(ctx, c.recorder, &nemesis.Pause{Target: victim}, nil, s.Length); err != nil {
			c.progress.Note(fmt.Sprintf("%s: pause of worker %s: %v", c.name, victim.Name(), err))
			continue
		}
		c.progress.Trial(c.name)
	}
}
