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
	// Driver makes a lock of a command (Config.Driver); nil where there are no drivers.
	Driver func(command, worker string) lock.Factory
}

// lock is the one that a worker is to drive.
func (r Registry) lock(cfg *Config) (lock.Factory, error) {
	if cfg.Driver != "" && r.Driver != nil {
		return r.Driver(cfg.Driver, cfg.Name), nil
	}
	if f, ok := r.Locks[cfg.Lock]; ok {
		return f, nil
	}
	return nil, fmt.Errorf("unknown lock %q", cfg.Lock)
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
	go w.orders.take(parent.Commands(), stop, w.obey)
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
	newLock, err := reg.lock(&cfg)
	if err != nil {
		return nil, err
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
		if err := w.failed(); err != nil {
			return err
		}
		w.wait(ctx, t.Idle)
	}
	return nil
}

// failed is why the worker can't go on.
func (w *Worker) failed() error {
	if c, ok := w.lock.(lock.Companion); ok {
		if err := c.Failed(); err != nil {
			return err
		}
	}
	return w.journal.failed()
}

// obey does what a command of the parent asks for beyond the orders at code points.
func (w *Worker) obey(c Command) {
	switch c.Do {
	case DoDisarm: // it has certainly taken effect by now
		w.emit(Event{What: SawDisarmed})
	case DoHalt:
		if err := w.haltCompanion(); err != nil {
			w.emit(Event{What: SawFailed, Text: err.Error()})
			return
		}
		w.emit(Event{What: SawHalted})
	case DoResume:
		w.resumeCompanion()
	}
}

// haltLimit is how long what the lock keeps beside the worker may take to stop.
const haltLimit = 10 * time.Second

func (w *Worker) haltCompanion() error {
	c, ok := w.lock.(lock.Companion)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltLimit)
	defer cancel()
	return c.Halt(ctx)
}

func (w *Worker) resumeCompanion() {
	if c, ok := w.lock.(lock.Companion); ok {
		if err := c.Resume(); err != nil {
			w.emit(Event{What: SawFailed, Text: err.Error()})
		}
	}
}

// at passes a code point: it stops the process, or waits, if that was ordered.
func (w *Worker) at(p histories.Point, grant string) {
	if w.orders.armedAt(p) {
		w.emit(Event{What: SawStopping, Point: p, Grant: grant, Session: w.holding()})
		if err := w.stopBoth(); err != nil {
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

// stopBoth stops what the lock keeps beside the worker, if there is such a thing, and
// then the worker itself; it returns when both go on.
func (w *Worker) stopBoth() error {
	if err := w.haltCompanion(); err != nil {
		return err
	}
	err := w.stopSelf()
	w.resumeCompanion()
	return err
}
