package campaign

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
)

// direct plays this lock's share of the cell's trials, one after the other.
func (c *cellRun) direct(ctx context.Context, lockIndex int) {
	workers := c.of(lockIndex)
	for k := range share(c.plan.Config.Trials, c.plan.Config.LockNames, lockIndex) {
		victim := workers[k%len(workers)]
		if ctx.Err() != nil || !victim.alive() {
			return
		}
		if err := c.trial(ctx, victim, others(workers, victim)); err != nil {
			c.progress.Note(fmt.Sprintf("%s: trial on %s was cut short: %v", c.name, victim.lockName, err))
			continue
		}
		c.progress.Trial(c.name)
	}
}

// share is how many of n things the i-th of m gets.
func share(n, m, i int) int {
	s := n / m
	if i < n%m {
		s++
	}
	return s
}

func others(workers []*worker, not *worker) []*worker {
	var out []*worker
	for _, w := range workers {
		if w != not {
			out = append(out, w)
		}
	}
	return out
}

// trial is one pause episode: the victim stops itself at the code point while it
// holds the lock; when its lease has run out, another worker is granted the lock
// and does what the trial waits for; then the victim goes on. A trial that is cut
// short is healed like any other, and is no more conclusive than what it left in
// the history.
func (c *cellRun) trial(ctx context.Context, victim *worker, rivals []*worker) error {
	ctx, cancel := context.WithTimeout(ctx, 3*c.cell.Pause+10*time.Second)
	defer cancel()
	watch := c.board.watch()
	defer watch.close()
	defer tell(rivals, workload.Command{Do: workload.DoGo})

	var stopped int64
	fault := &nemesis.PauseAt{Target: victim, Point: c.cell.Point}
	until := func(ctx context.Context) error {
		stopped = monotonic.Now()
		return c.successor(ctx, watch, rivals, stopped)
	}
	if err := nemesis.Hold(ctx, c.nemesis, fault, until, c.cell.Pause); err != nil {
		return err
	}
	// The victim is done with the old grant when it has released it, or failed to.
	if _, err := watch.await(ctx, []*worker{victim}, stopped, workload.SawReleased, workload.SawFailed); err != nil {
		return err
	}
	if c.plan.Config.Until == UntilWritten {
		return nil
	}
	// The successor was parked: let it do its own write, over the old holder's.
	tell(rivals, workload.Command{Do: workload.DoGo})
	_, err := watch.await(ctx, rivals, stopped, workload.SawReleased, workload.SawFailed)
	return err
}

// successor waits until one of the rivals got as far as the trial wants it to.
func (c *cellRun) successor(ctx context.Context, watch *watch, rivals []*worker, after int64) error {
	want := workload.SawWrote
	switch c.plan.Config.Until {
	case UntilGranted:
		want = workload.SawParked
		tell(rivals, workload.Command{Do: workload.DoPark, Point: histories.PointAcquired})
	case UntilRead:
		want = workload.SawParked
		tell(rivals, workload.Command{Do: workload.DoPark, Point: histories.PointRead})
	}
	_, err := watch.await(ctx, rivals, after, want)
	return err
}

// tell sends a command to all who are there to hear it.
func tell(workers []*worker, c workload.Command) {
	for _, w := range workers {
		_ = w.Send(c) // it fails only for a worker that has ended, which its own end tells
	}
}
