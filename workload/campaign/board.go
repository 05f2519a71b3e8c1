package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/child"
)

// sawEnded is the event that the parent itself posts when a worker has ended.
const sawEnded = "ended"

// worker is a worker process, as its parent sees it.
type worker struct {
	*child.Process
	lockName string
	board    *board
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
	_, err := watch.await(ctx, []*worker{w}, 0, workload.SawStopping)
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), nemesis.UndoLimit)
		defer cancel()
		_ = w.Send(workload.Command{Do: workload.DoDisarm})
		return errors.Join(err, w.Continue(undo))
	}
	return nil
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
}

func newBoard() *board { return &board{watches: map[*watch]bool{}} }

// follow posts the worker's events until it has ended, and then that it has.
func (b *board) follow(w *worker) {
	for raw := range w.Events() {
		var e workload.Event
		if json.Unmarshal(raw, &e) == nil {
			b.post(seen{e, w})
		}
	}
	<-w.Done()
	b.post(seen{workload.Event{What: sawEnded}, w})
}

func (b *board) post(e seen) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
