package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/child"
)

// sawEnded is the event that the parent itself posts when a worker has ended.
const sawEnded = "ended"

// disarmTick is how long a worker may take to answer before it is continued again.
const disarmTick = 50 * time.Millisecond

// worker is a worker process, as its parent sees it.
type worker struct {
	*child.Process
	lockName string
	board    *board
	session  string // of the hold in which it last stopped itself
	driven   bool   // its lock is a driver: it keeps processes beside it
}

var _ nemesis.Armed = (*worker)(nil)

// AwaitPoint arms the worker and waits until it says that it is about to stop
// itself. Should it not get there, it is disarmed; it may then have stopped itself
// all the same at the last moment, so it is continued, too.
func (w *worker) AwaitPoint(ctx context.Context, p histories.Point) error {
	watch := w.board.watch()
	defer watch.close()
	if err := w.Send(workload.Command{Do: workload.DoArm, Point: p}); err != nil {
		return err
	}
	e, err := watch.await(ctx, []*worker{w}, 0, workload.SawStopping)
	w.session = e.Session
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), nemesis.UndoLimit)
		defer cancel()
		return errors.Join(err, w.disarm(undo, watch))
	}
	return nil
}

// SignalStop stops the worker, and before it what its lock keeps beside it.
func (w *worker) SignalStop(ctx context.Context) error {
	if w.driven {
		watch := w.board.watch()
		defer watch.close()
		if err := w.Send(workload.Command{Do: workload.DoHalt}); err != nil {
			return err
		}
		e, err := watch.await(ctx, []*worker{w}, 0, workload.SawHalted, workload.SawFailed)
		if err != nil {
			return err
		}
		if e.What == workload.SawFailed {
			return fmt.Errorf("stop what worker %s keeps beside it: %s", w.Name(), e.Text)
		}
	}
	return w.Process.SignalStop(ctx)
}

// Continue lets both go on.
func (w *worker) Continue(ctx context.Context) error {
	err := w.Process.Continue(ctx)
	if w.driven {
		err = errors.Join(err, w.Send(workload.Command{Do: workload.DoResume}))
	}
	return err
}

// disarm makes sure that the worker does not stop itself any more. It may be doing so
// at this moment, and answers only when it was continued: so it is, over and over.
func (w *worker) disarm(ctx context.Context, watch *watch) error {
	if err := w.Send(workload.Command{Do: workload.DoDisarm}); err != nil {
		return err
	}
	for w.alive() {
		if err := w.Continue(ctx); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, disarmTick)
		_, err := watch.await(short, []*worker{w}, 0, workload.SawDisarmed)
		cancel()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("disarm worker %s: %w", w.Name(), errWorkerEnded)
}

// alive tells whether the process has not ended.
func (w *worker) alive() bool {
	select {
	case <-w.Done():
		return false
	default:
		return true
	}
}

// seen is an event, and whose it is.
type seen struct {
	workload.Event
	worker *worker
}

// board takes the events of all workers of a cell and shows them to who watches.
// Events only wake the campaign. What nobody watches for is forgotten, so that a
// long campaign does not fill the memory.
type board struct {
	mu      sync.Mutex
	watches map[*watch]bool
	failed  map[*worker]string // why a worker could not go on, by its own word
}

func newBoard() *board { return &board{watches: map[*watch]bool{}, failed: map[*worker]string{}} }

// failure is why the worker could not go on, "" if it did not say so.
func (b *board) failure(w *worker) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed[w]
}

// follow posts the worker's events until it has ended, and then that it has.
func (b *board) follow(w *worker) {
	for raw := range w.Events() {
		var e workload.Event
		if json.Unmarshal(raw, &e) == nil {
			b.post(seen{e, w})
		}
	}
	<-w.Done()
	b.post(seen{workload.Event{What: sawEnded, AtNS: monotonic.Now()}, w})
}

func (b *board) post(e seen) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.What == workload.SawFailed {
		b.failed[e.worker] = e.Text
	}
	for w := range b.watches {
		w.queue = append(w.queue, e)
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// watch sees every event that is posted from now on.
func (b *board) watch() *watch {
	w := &watch{board: b, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watches[w] = true
	return w
}

type watch struct {
	board *board
	queue []seen // guarded by board.mu
	wake  chan struct{}
}

func (w *watch) close() {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	delete(w.board.watches, w)
}

func (w *watch) take() []seen {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	events := w.queue
	w.queue = nil
	return events
}

// errWorkerEnded is what await returns when nobody is left to wait for.
var errWorkerEnded = errors.New("worker has ended")

// await returns the first event of one of the workers that is one of what and was
// emitted after the time (CLOCK_MONOTONIC). Events that it passes over are gone. It
// fails when ctx ends, and when all of the workers have ended: nobody hangs on a
// process that died.
func (w *watch) await(ctx context.Context, from []*worker, after int64, what ...string) (seen, error) {
	for {
		events := w.take()
		for i, e := range events {
			if slices.Contains(from, e.worker) && slices.Contains(what, e.What) && e.AtNS > after {
				w.putBack(events[i+1:])
				return e, nil
			}
		}
		if !slices.ContainsFunc(from, (*worker).alive) {
			return seen{}, fmt.Errorf("worker %s: %w", names(from), errWorkerEnded)
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return seen{}, fmt.Errorf("wait for %q from worker %s: %w", what, names(from), context.Cause(ctx))
		}
	}
}

func names(workers []*worker) string {
	var out []string
	for _, w := range workers {
		out = append(out, w.Name())
	}
	return strings.Join(out, ", ")
}

func (w *watch) putBack(events []seen) {
	if len(events) == 0 {
		return
	}
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	w.queue = append(events, w.queue...)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
