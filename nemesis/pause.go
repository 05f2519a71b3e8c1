package nemesis

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
)

// Process is a process that can be stopped with SIGSTOP.
type Process interface {
	// Name is its name in the history.
	Name() string
	// SignalStop sends SIGSTOP.
	SignalStop(ctx context.Context) error
	// Stopped returns when the kernel shows every one of its threads as stopped.
	Stopped(ctx context.Context) error
	// Continue sends SIGCONT and returns when the kernel shows no thread as stopped.
	Continue(ctx context.Context) error
}

// Armed is a process that stops itself at a code point, exact to the instruction:
// a signal from outside arrives milliseconds late.
type Armed interface {
	Process
	// AwaitPoint arms the process for the code point and returns when it says that
	// it is about to stop itself there. If it returns an error the process is no
	// longer armed.
	AwaitPoint(ctx context.Context, p histories.Point) error
}

// Pause stops a process from outside, at any moment.
type Pause struct {
	Target Process
	forced bool
}

var _ Fault = (*Pause)(nil)

// Name is "pause-random".
func (*Pause) Name() string { return "pause-random" }

// Inject sends SIGSTOP and waits until every thread is stopped.
func (p *Pause) Inject(ctx context.Context, r Recorder) error {
	p.forced = true
	err := record(r, histories.Operation{F: histories.Pause, Target: p.Target.Name()}, func() error {
		if err := p.Target.SignalStop(ctx); err != nil {
			return fmt.Errorf("stop %s: %w", p.Target.Name(), err)
		}
		return p.Target.Stopped(ctx)
	})
	return healed(ctx, r, p, err)
}

// Undo sends SIGCONT and waits until no thread is stopped.
func (p *Pause) Undo(ctx context.Context, r Recorder) error {
	if !p.forced {
		return nil
	}
	p.forced = false
	return resume(ctx, r, p.Target)
}

// PauseAt has a process stop itself at a code point.
type PauseAt struct {
	Target  Armed
	Point   histories.Point
	stopped bool
}

var _ Fault = (*PauseAt)(nil)

// Name is "pause-" and the code point.
func (p *PauseAt) Name() string { return "pause-" + string(p.Point) }

// Inject arms the process, waits until it reaches the point, and then until every
// one of its threads is stopped. A process that never gets there is no pause, and
// nothing is recorded.
func (p *PauseAt) Inject(ctx context.Context, r Recorder) error {
	if err := p.Target.AwaitPoint(ctx, p.Point); err != nil {
		return fmt.Errorf("await point %s of %s: %w", p.Point, p.Target.Name(), err)
	}
	p.stopped = true
	op := histories.Operation{F: histories.Pause, Target: p.Target.Name(), Point: p.Point}
	err := record(r, op, func() error { return p.Target.Stopped(ctx) })
	return healed(ctx, r, p, err)
}

// Undo sends SIGCONT and waits until no thread is stopped.
func (p *PauseAt) Undo(ctx context.Context, r Recorder) error {
	if !p.stopped {
		return nil
	}
	p.stopped = false
	return resume(ctx, r, p.Target)
}

func resume(ctx context.Context, r Recorder, target Process) error {
	op := histories.Operation{F: histories.Resume, Target: target.Name()}
	return record(r, op, func() error { return target.Continue(ctx) })
}

// healed undoes a fault whose injection failed half way.
func healed(ctx context.Context, r Recorder, f Fault, failure error) error {
	if failure == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoLimit)
	defer cancel()
	if err := f.Undo(undo, r); err != nil {
		return fmt.Errorf("%w (and undo: %w)", failure, err)
	}
	return failure
}
