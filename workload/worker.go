package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Parent is the process that started the worker. *child.Parent is one.
type Parent interface {
	Config(into any) error
	Commands() <-chan json.RawMessage
	Emit(event any) error
}

// Registry names what a worker can be told to drive.
type Registry struct {
	Locks     map[string]lock.Factory
	Resources map[string]resource.Factory
}

// Worker runs lease-guarded writes on one lock name and one resource.
type Worker struct {
	cfg      Config
	parent   Parent
	journal  *journal
	lock     lock.Lock
	resource resource.Resource
	orders   *orders
	stopSelf func() error // SIGSTOP; returns when continued

	grants, values int
	session        atomic.Pointer[string] // of the present hold
}

// Main is the whole of a worker process: it reads its configuration from the
// parent, connects, works until it is told to stop, and releases what it holds.
func Main(ctx context.Context, parent Parent, reg Registry) error {
	var cfg Config
	if err := parent.Config(&cfg); err != nil {
		return fmt.Errorf("read worker config: %w", err)
	}
	w, err := newWorker(ctx, cfg, parent, reg)
	if err != nil {
		_ = parent.Emit(Event{What: SawFailed, AtNS: monotonic.Now(), Text: err.Error()})
		return fmt.Errorf("start worker %s: %w", cfg.Name, err)
	}
	defer w.lock.Close()
	defer w.resource.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go w.orders.take(parent.Commands(), stop, func() { w.emit(Event{What: SawDisarmed}) })
	w.emit(Event{What: SawReady})
	if err := w.run(ctx); err != nil {
		w.emit(Event{What: SawFailed, Text: err.Error()})
		return err
	}
	return nil
}

func newWorker(ctx context.Context, cfg Config, parent Parent, reg Registry) (*Worker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := sameTime(cfg.TimeNamespace); err != nil {
		return nil, err
	}
	newLock, ok := reg.Locks[cfg.Lock]
	if !ok {
		return nil, fmt.Errorf("unknown lock %q", cfg.Lock)
	}
	newResource, ok := reg.Resources[cfg.Resource]
	if !ok {
		return nil, fmt.Errorf("unknown resource %q", cfg.Resource)
	}
	file, err := os.OpenFile(cfg.History, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	rec := histories.NewRecorder(file, cfg.Name, func() int64 { return monotonic.Now() - cfg.OriginNS })
	w := &Worker{cfg: cfg, parent: parent, journal: newJournal(rec, cfg.LockName), orders: newOrders(), stopSelf: child.StopSelf}
	if w.resource, err = newResource(ctx, cfg.ResourceEndpoint); err != nil {
		return nil, fmt.Errorf("connect to resource: %w", err)
	}
	w.lock, err = newLock(ctx, lock.Options{Endpoints: cfg.Endpoints, Prefix: cfg.Prefix, Listener: w.journal})
	if err != nil {
		return nil, fmt.Errorf("connect to lock store: %w", err)
	}
	return w, nil
}

// sameTime refuses to work in another time namespace than the parent.
func sameTime(parents string) error {
	mine, err := monotonic.Namespace()
	if err != nil {
		return err
	}
	if mine != parents {
		return fmt.Errorf("time namespace %q is not the parent's %q: stamps can't be compared", mine, parents)
	}
	return nil
}

func (w *Worker) run(ctx context.Context) error {
	gen := NewGenerator(w.cfg.Mode, time.Duration(w.cfg.TTLMS)*time.Millisecond,
		Stream(w.cfg.Seed, w.cfg.Cell, w.cfg.LockName, w.cfg.Name))
	for ctx.Err() == nil {
		t := gen.Next()
		w.tenure(ctx, t)
		if err := w.journal.failed(); err != nil {
			return err
		}
		w.wait(ctx, t.Idle)
	}
	return nil
}

// at passes a code point: it stops the process, or waits, if that was ordered.
func (w *Worker) at(p histories.Point, grant string) {
	if w.orders.armedAt(p) {
		w.emit(Event{What: SawStopping, Point: p, Grant: grant, Session: w.holding()})
		if err := w.stopSelf(); err != nil {
			w.emit(Event{What: SawFailed, Point: p, Text: err.Error()})
		}
		w.orders.wentOn()
	}
	if free := w.orders.parkedAt(p); free != nil {
		w.emit(Event{What: SawParked, Point: p, Grant: grant})
		<-free
	}
}

// holding is the session of the present hold, "" if there is none.
func (w *Worker) holding() string {
	if s := w.session.Load(); s != nil {
		return *s
	}
	return ""
}

// emit tells the parent. In random mode nobody plays to these cues, and each would
// cost two processes a wake-up: only what the parent must know is told. A parent that is gone can't be told anything, and will
// have taken this process with it in a moment.
func (w *Worker) emit(e Event) {
	if w.cfg.Mode == Random && e.What != SawReady && e.What != SawFailed {
		return
	}
	e.AtNS = monotonic.Now()
	_ = w.parent.Emit(e)
}

func (w *Worker) wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// pause lets time go by whatever happens: the work between guard and write is not
// cut short because the worker is told to stop.
func pause(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}
