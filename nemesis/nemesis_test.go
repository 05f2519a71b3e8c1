package nemesis_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/nemesis"
)

// log is a Recorder and a Process in one: it notes what was done, in order.
type log struct {
	steps  []string
	failAt string // a step that fails
}

func (l *log) step(s string) error {
	l.steps = append(l.steps, s)
	if s == l.failAt {
		return errors.New("refused by the test")
	}
	return nil
}

func (l *log) Invoke(op histories.Operation) (int64, error) {
	return 0, l.step(fmt.Sprintf("invoke %s %s %s", op.F, op.Target, op.Point))
}
func (l *log) Answer(_ int64, a histories.Operation) error { return l.step("answer " + string(a.Type)) }
func (l *log) Name() string                                { return "1" }
func (l *log) SignalStop(context.Context) error            { return l.step("SIGSTOP") }
func (l *log) Stopped(context.Context) error               { return l.step("stopped") }
func (l *log) Continue(context.Context) error              { return l.step("SIGCONT") }
func (l *log) AwaitPoint(_ context.Context, p histories.Point) error {
	return l.step("point " + string(p))
}

func TestHoldUndoes(t *testing.T) {
	t.Parallel()
	stop := []string{"invoke pause 1 ", "SIGSTOP", "stopped", "answer ok"}
	cont := []string{"invoke resume 1 ", "SIGCONT", "answer ok"}
	for name, c := range map[string]struct {
		failAt string
		until  func(context.Context) error
		want   []string
		fails  bool
	}{
		// The plain case: stopped, seen stopped, continued.
		"condition met": {until: func(context.Context) error { return nil }, want: slices.Concat(stop, cont)},
		// A condition that never comes true must not leave the process stopped.
		"condition fails": {until: func(context.Context) error { return errors.New("never") }, want: slices.Concat(stop, cont), fails: true},
		// A stop that nobody could confirm may have happened: info, and undone.
		"stop not seen": {failAt: "stopped", want: slices.Concat(stop[:3], []string{"answer info"}, cont), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &log{failAt: c.failAt}
			err := nemesis.Hold(t.Context(), l, &nemesis.Pause{Target: l}, c.until, 0)
			if (err != nil) != c.fails || !slices.Equal(l.steps, c.want) {
				t.Errorf("error %v, steps %q, want %q", err, l.steps, c.want)
			}
		})
	}
}

func TestHoldUndoesAfterCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	l := &log{}
	err := nemesis.Hold(ctx, l, &nemesis.Pause{Target: l}, func(ctx context.Context) error { cancel(); return ctx.Err() }, time.Hour)
	if err == nil || !slices.Contains(l.steps, "SIGCONT") {
		t.Errorf("error %v, steps %q", err, l.steps)
	}
}

func TestHoldUndoesOnPanic(t *testing.T) {
	t.Parallel()
	l := &log{}
	func() {
		defer func() { _ = recover() }()
		_ = nemesis.Hold(t.Context(), l, &nemesis.Pause{Target: l}, func(context.Context) error { panic("bug") }, 0)
	}()
	if !slices.Contains(l.steps, "SIGCONT") {
		t.Errorf("steps %q", l.steps)
	}
}

// A process that never reaches its point was never stopped: no pause on record.
func TestPauseAtNotReached(t *testing.T) {
	t.Parallel()
	l := &log{failAt: "point checked"}
	err := nemesis.Hold(t.Context(), l, &nemesis.PauseAt{Target: l, Point: histories.PointChecked}, nil, 0)
	if err == nil || !slices.Equal(l.steps, []string{"point checked"}) {
		t.Errorf("error %v, steps %q", err, l.steps)
	}
}

func TestScheduleFollowsItsSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (out []nemesis.Strike) {
		s := nemesis.Schedule{Targets: 5, Gap: time.Second, Least: time.Second, Spread: time.Second, Rand: rand.New(rand.NewPCG(seed, 1))}
		for range 50 {
			out = append(out, s.Next())
		}
		return out
	}
	if !slices.Equal(draw(7), draw(7)) {
		t.Error("one seed, two schedules")
	}
	if slices.Equal(draw(7), draw(8)) {
		t.Error("two seeds, one schedule")
	}
	for _, s := range draw(7) {
		if s.Length < time.Second || s.Length > 2*time.Second || s.After > 3*time.Second || s.Target < 0 || s.Target > 4 {
			t.Errorf("out of bounds: %+v", s)
		}
	}
}
