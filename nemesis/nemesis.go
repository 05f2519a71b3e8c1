// Package nemesis breaks things on purpose, and always undoes it.
//
// A [Fault] is one way to break one target; each stands in a file of its own.
// [Hold] keeps a fault in force until a condition is met, undoes it whatever
// happens meanwhile, and has both ends recorded in the history, requested and
// confirmed. The word nemesis is Jepsen's.
//
// The package knows its targets only through the small interfaces below: what it
// can break is what it was handed, and it was handed only what the tool started.
package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
)

// Recorder takes the operations of the nemesis, for the history. *histories.Recorder is one.
type Recorder interface {
	Invoke(histories.Operation) (id int64, err error)
	Answer(id int64, answer histories.Operation) error
}

// Fault is one way to break one target.
type Fault interface {
	// Name is the fault's word in a cell's name: "pause-checked".
	Name() string
	// Inject breaks the target and returns once that took effect. If it returns an
	// error nothing is broken any more.
	Inject(ctx context.Context, r Recorder) error
	// Undo heals the target and returns once that took effect. ctx bounds the wait,
	// never the attempt. Undo of a fault that is not in force does nothing.
	Undo(ctx context.Context, r Recorder) error
}

// UndoLimit is how long an undo may take before it counts as failed.
const UndoLimit = 10 * time.Second

// Hold injects the fault, waits until the condition until returns, and at least
// for the time least, and undoes it: also when ctx ends, when until fails, and on
// a panic. A nil until waits for the time alone.
func Hold(ctx context.Context, r Recorder, f Fault, until func(context.Context) error, least time.Duration) (err error) {
	if err := f.Inject(ctx, r); err != nil {
		return fmt.Errorf("inject %s: %w", f.Name(), err)
	}
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoLimit)
		defer cancel()
		if e := f.Undo(undo, r); e != nil {
			err = errors.Join(err, fmt.Errorf("undo %s: %w", f.Name(), e))
		}
	}()
	enough := time.NewTimer(least)
	defer enough.Stop()
	if until != nil {
		if err := until(ctx); err != nil {
			return fmt.Errorf("wait during %s: %w", f.Name(), err)
		}
	}
	select {
	case <-enough.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// record has one operation of the nemesis written down around what act does. An
// error of act is recorded as info: a signal may have had its effect all the same.
func record(r Recorder, op histories.Operation, act func() error) error {
	op.Process = histories.Nemesis
	id, err := r.Invoke(op)
	if err != nil {
		return fmt.Errorf("record %s: %w", op.F, err)
	}
	failure := act()
	answer := histories.Operation{Type: histories.OK}
	if failure != nil {
		answer = histories.Operation{Type: histories.Info, Error: failure.Error()}
	}
	if err := r.Answer(id, answer); err != nil {
		return errors.Join(failure, fmt.Errorf("record %s: %w", op.F, err))
	}
	return failure
}
