package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
)

// direct plays this lock's share of the cell's trials, one after the other, as long
// as the limit allows another to begin. One that has begun is only cut short by ctx:
// a pause that ends early would prove nothing.
func (c *cellRun) direct(ctx, limit context.Context, lockIndex int) {
	workers := c.of(lockIndex)
	for k := range share(c.cell.Settings.Trials, c.cell.Settings.LockNames, lockIndex) {
		workers = living(workers)
		if limit.Err() != nil || len(workers) < 2 {
			return // nobody to stop, or nobody to take over
		}
		victim := workers[k%len(workers)]
		err := c.trial(ctx, victim, others(workers, victim))
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.progress.Note(fmt.Sprintf("%s: trial on %s was cut short: %v", c.name, victim.lockName, err))
			continue
		}
		c.progress.Trial(c.name)
	}
}

func living(workers []*worker) []*worker {
	return slices.DeleteFunc(slices.Clone(workers), func(w *worker) bool { return !w.alive() })
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
		if err := c.endSession(ctx, victim); err != nil {
			return err
		}
		return c.successor(ctx, watch, rivals, stopped)
	}
	if err := nemesis.Hold(ctx, c.recorder, fault, until, c.cell.Pause); err != nil {
		return err
	}
	// The victim is done with the old grant when it has released it, or failed to.
	if _, err := watch.await(ctx, []*worker{victim}, stopped, workload.SawReleased, workload.SawFailed); err != nil {
		return err
	}
	if c.cell.Settings.Until == UntilWritten {
		return nil
	}
	// The successor was parked: let it do its own write, over the old holder's.
	tell(rivals, workload.Command{Do: workload.DoGo})
	_, err := watch.await(ctx, rivals, stopped, workload.SawReleased, workload.SawFailed)
	return err
}

// endSession ends the victim's session at the store, if that is the fault, and puts
// it on record that the store ended the lease on purpose.
func (c *cellRun) endSession(ctx context.Context, victim *worker) error {
	if c.cell.Settings.Fault != FaultSessionKill {
		return nil
	}
	kill := &nemesis.SessionKill{Worker: victim.Name(), Kill: func(ctx context.Context) error {
		return c.cell.Lock.KillSession(ctx, c.store.Endpoints()[0], victim.session)
	}}
	// Begun before the kill: a successor may be granted the lock before the store has
	// told us that the session is gone.
	id, err := c.revoked.Invoke(histories.Operation{F: histories.Revoke, Lock: victim.lockName, Target: victim.Name()})
	if err != nil {
		return err
	}
	if err := kill.Inject(ctx, c.recorder); err != nil {
		return errors.Join(err, c.revoked.Answer(id, histories.Operation{Type: histories.Info, Error: err.Error()}))
	}
	return c.revoked.Answer(id, histories.Operation{Type: histories.OK})
}

// successor waits until one of the rivals got as far as the trial wants it to.
func (c *cellRun) successor(ctx context.Context, watch *watch, rivals []*worker, after int64) error {
	want := workload.SawWrote
	switch c.cell.Settings.Until {
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
