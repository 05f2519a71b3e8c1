package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leasehold-checker/leasehold/checker/floor"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/store"
)

const (
	startLimit = 30 * time.Second // for all workers of a cell to connect
	stopLimit  = 30 * time.Second // for all of them to finish what they are at; a busy disk can hold a store up for long
	goneLimit  = 2 * time.Second  // the same, when the store is gone
	finalLimit = 5 * time.Second  // for one of the last reads
)

// resourcePrefix keeps the keys of a resource that lives in the lock's own store away
// from those of the lock.
const resourcePrefix = "resources/"

// reader is the process that does the last reads of a cell.
const reader = "reader"

// cellRun is one cell, while it runs.
type cellRun struct {
	plan      *Plan
	cell      Cell
	name      string
	dir       string
	prefix    string
	starter   *child.Starter
	store     store.Store
	storeKind Store
	origin    int64
	namespace string
	progress  Progress

	board    *board
	workers  []*worker // by lock name: Workers of each
	resource resource.Server
	// resourceStore is the store that the resource lives in, nil if it has a server of its own.
	resourceStore store.Store
	recorder      *histories.Recorder // of the nemesis
	revoked       *histories.Recorder // of what the store was made to end; nil but for session kills
	files         []*os.File

	mu       sync.Mutex
	stopping bool     // workers are being told to stop
	notes    []string // what a reader of the report should know
}

// lockName is the name of the i-th lock, resourceName that of what it guards.
func lockName(i int) string     { return "L" + strconv.Itoa(i+1) }
func resourceName(i int) string { return "R" + strconv.Itoa(i+1) }

// run carries the cell out and returns its history. Whatever happens, nothing of
// it runs any more when it returns. The history is what was recorded, also when
// there is an error, nil only if nothing could be collected.
func (c *cellRun) run(ctx context.Context) (*histories.History, error) {
	err := c.play(ctx)
	h, e := c.collect()
	return h, errors.Join(err, e)
}

func (c *cellRun) play(ctx context.Context) (err error) {
	ctx, cancel := c.whileStoreLives(ctx)
	defer cancel(nil)
	c.origin = monotonic.Now()
	c.board = newBoard()
	if c.namespace, err = monotonic.Namespace(); err != nil {
		return err
	}
	if err := c.proveEmpty(ctx); err != nil {
		return err
	}
	seen, err := c.observe(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seen.end()) }()
	if err := c.startResource(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.closeResource()) }()
	if err := c.openNemesis(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.closeFiles()) }()
	err = c.startWorkers(ctx)
	if err == nil {
		err = c.act(ctx)
	}
	return errors.Join(err, c.stopWorkers(), c.finalReads())
}

// whileStoreLives is a context that ends when the store does: without it every
// request would wait for its own limit.
func (c *cellRun) whileStoreLives(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-c.store.Down():
			cancel(fmt.Errorf("the lock store %s ended by itself, see its log", c.store.Kind()))
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (c *cellRun) proveEmpty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := c.storeKind.Empty(ctx, c.store.Endpoints(), c.prefix); err != nil {
		return fmt.Errorf("prove store clean: %w", errors.Join(err, causeOf(ctx)))
	}
	return nil
}

// causeOf is why a context ended, where that says more than that it did.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return cause
	}
	return nil
}

func (c *cellRun) startResource(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	o := resource.ServerOptions{Dir: c.dir, Prefix: resourcePrefix + c.prefix, Fence: c.cell.Fence, Initial: c.initial()}
	if c.resourceStore != nil {
		o.Store = c.resourceStore.Endpoints()
	}
	if c.resource, err = c.cell.Resource.Start(ctx, c.starter, o); err != nil {
		return fmt.Errorf("start resource %s: %w", c.cell.Resource.Name, err)
	}
	return nil
}

func (c *cellRun) closeResource() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := c.resource.Stop(ctx); err != nil {
		return fmt.Errorf("stop resource: %w", err)
	}
	return nil
}

func (c *cellRun) openNemesis() error {
	f, err := c.create(histories.Nemesis)
	if err != nil {
		return err
	}
	c.recorder = histories.NewRecorder(f, histories.Nemesis, c.clock)
	if c.cell.Settings.Fault == FaultSessionKill {
		if f, err = c.create(histories.Store); err != nil {
			return err
		}
		c.revoked = histories.NewRecorder(f, histories.Store, c.clock)
	}
	return nil
}

// create opens the event file of a process of ours.
func (c *cellRun) create(process string) (*os.File, error) {
	f, err := os.Create(c.eventFile(process))
	if err != nil {
		return nil, fmt.Errorf("open history of %s: %w", process, err)
	}
	c.files = append(c.files, f)
	return f, nil
}

func (c *cellRun) eventFile(process string) string {
	return filepath.Join(c.dir, folderEvents, process+".jsonl")
}

func (c *cellRun) closeFiles() error {
	var errs []error
	for _, f := range c.files {
		errs = append(errs, f.Sync(), f.Close())
	}
	return errors.Join(errs...)
}

// startWorkers starts all workers and returns when every one of them is connected.
func (c *cellRun) startWorkers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	watch := c.board.watch()
	defer watch.close()
	for i := range c.cell.Settings.LockNames {
		for range c.cell.Settings.Workers {
			if err := c.startWorker(ctx, i); err != nil {
				return err
			}
		}
	}
	for range c.workers {
		e, err := watch.await(ctx, c.workers, 0, workload.SawReady, workload.SawFailed, sawEnded)
		if err != nil {
			return fmt.Errorf("start workers: %w", err)
		}
		if e.What != workload.SawReady {
			return fmt.Errorf("start workers: worker %s did not come up, see its log: %s", e.worker.Name(), e.Text)
		}
	}
	return nil
}

func (c *cellRun) startWorker(ctx context.Context, lockIndex int) error {
	name := strconv.Itoa(len(c.workers) + 1)
	k := c.plan.Config
	p, err := c.starter.Start(ctx, child.Spec{
		Role: workload.RoleWorker,
		Name: name,
		Log:  filepath.Join(c.dir, "worker-"+name+".log"),
		Config: workload.Config{
			Name: name, Cell: c.name, History: c.eventFile("worker-" + name), OriginNS: c.origin, TimeNamespace: c.namespace,
			Lock: c.cell.Lock.Name, Driver: c.cell.Lock.Driver, Endpoints: c.store.Endpoints(), Prefix: c.prefix, LockName: lockName(lockIndex), TTLMS: k.TTL.Milliseconds(), NoTTL: c.cell.Lock.NoTTL,
			Resource: c.cell.Resource.Name, ResourceEndpoint: c.resource.Endpoint(), ResourceName: resourceName(lockIndex),
			Guard: c.cell.Guard, WorkUS: k.Work.Microseconds(), Mode: k.Mode, Seed: uint64(k.Seed),
			OpLimitMS: (10*c.cell.Pause + time.Minute).Milliseconds(),
		},
	})
	if err != nil {
		return err
	}
	w := &worker{Process: p, lockName: lockName(lockIndex), board: c.board, driven: c.cell.Lock.Driver != ""}
	c.workers = append(c.workers, w)
	go func() {
		c.board.follow(w)
		c.ended(w)
	}()
	return nil
}

// of returns the workers of one lock name.
func (c *cellRun) of(lockIndex int) []*worker {
	n := c.cell.Settings.Workers
	return c.workers[lockIndex*n : (lockIndex+1)*n]
}

// stopWorkers ends all workers, side by side. One that had died before is put on
// record: it is nobody's violation, but a reader must know.
func (c *cellRun) stopWorkers() error {
	limit := stopLimit
	select {
	case <-c.store.Down():
		limit = goneLimit // they wait for a store that will not answer
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var g errgroup.Group
	errs := make([]error, len(c.workers))
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	for i, w := range c.workers {
		if !w.alive() {
			errs[i] = c.unable(w)
			continue
		}
		g.Go(func() error {
			errs[i] = w.Close(ctx)
			return nil
		})
	}
	_ = g.Wait()
	return firstOf("stop workers", errs)
}

// firstOf is one error for many of a kind: how many there are, and the first.
func firstOf(what string, errs []error) error {
	var first error
	n := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		if n++; first == nil {
			first = err
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s: %w", what, first)
	}
	return fmt.Errorf("%s: %d of %d failed, the first: %w", what, n, len(errs), first)
}

// errIncomplete marks a history from which something is missing that was done. It
// must not be judged: a value that nobody is known to have written accuses the
// resource.
var errIncomplete = errors.New("the history is incomplete")

// ended records that a worker has ended without having been asked to: it is nobody's
// violation, but a reader must know.
func (c *cellRun) ended(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return
	}
	text := fmt.Sprintf("worker %s had ended by itself", w.Name())
	if err := w.Err(); err != nil {
		text += ": " + err.Error()
	}
	c.notes = append(c.notes, text)
	_ = c.recorder.Instant(histories.Operation{F: histories.Note, Text: text}) // the report has it as well
}

// unable is an error if a worker that has ended did so because it could not go on.
// That somebody killed it is nobody's fault; this is the environment's.
func (c *cellRun) unable(w *worker) error {
	if why := c.board.failure(w); why != "" {
		return fmt.Errorf("worker %s could not go on: %s: %w", w.Name(), why, errIncomplete)
	}
	return nil
}

// act lets the nemesis loose. It is an error if the store or the resource ended
// meanwhile without having been asked to: what is missing from the history then is
// nobody's merit.
func (c *cellRun) act(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var spotter sync.WaitGroup
	defer spotter.Wait()
	defer cancel(nil)
	spotter.Go(func() {
		c.spot(ctx, func(stale *floor.Stale) { c.spotted(stale, func() { cancel(errFailFast) }) })
	})
	go func() {
		select {
		case <-c.resource.Done():
			cancel(fmt.Errorf("the resource %s ended by itself, see its log", c.cell.Resource.Name))
		case <-ctx.Done():
		}
	}()
	limit, stop := context.WithTimeout(ctx, c.cell.Settings.TimeLimit)
	defer stop()
	var g errgroup.Group
	for i := range c.cell.Settings.LockNames {
		g.Go(func() error {
			switch {
			case c.cell.Settings.Fault == FaultNoop:
				_ = nemesis.Hold(limit, c.recorder, nemesis.Noop{}, nil, c.cell.Settings.TimeLimit)
			case c.cell.Settings.Mode == workload.Random:
				c.strikeAtRandom(ctx, limit, i)
			default:
				c.direct(ctx, limit, i)
			}
			return nil
		})
	}
	_ = g.Wait()
	if cause := context.Cause(ctx); cause != errFailFast { // that is what was asked for
		return cause
	}
	return nil
}

// finalReads reads every resource once more, when nobody works on it any longer.
func (c *cellRun) finalReads() error {
	f, err := c.create(reader)
	if err != nil {
		return err
	}
	rec := histories.NewRecorder(f, reader, c.clock)
	ctx, cancel := context.WithTimeout(context.Background(), finalLimit)
	defer cancel()
	client, err := c.cell.Resource.Connect(ctx, c.resource.Endpoint())
	if err != nil {
		return fmt.Errorf("read at the end: %w", err)
	}
	defer client.Close()
	for i := range c.cell.Settings.LockNames {
		id, err := rec.Invoke(histories.Operation{F: histories.Read, Resource: resourceName(i)})
		if err != nil {
			return fmt.Errorf("read at the end: %w", err)
		}
		answer := histories.Operation{Type: histories.OK}
		got, err := client.Read(ctx, resourceName(i), resource.Token{})
		if err != nil {
			answer = histories.Operation{Type: histories.Info, Error: histories.ErrTimeout + ": " + err.Error()}
		} else {
			answer.Value, answer.Seq = histories.Some(got.Value), got.Seq
		}
		if err := rec.Answer(id, answer); err != nil {
			return fmt.Errorf("read at the end: %w", err)
		}
	}
	return nil
}

// initial is the value of each resource before the first write.
func (c *cellRun) initial() map[string]string {
	initial := map[string]string{}
	for i := range c.cell.Settings.LockNames {
		initial[resourceName(i)] = "0"
	}
	return initial
}

// collect joins what all processes wrote down into one history, and writes it.
func (c *cellRun) collect() (*histories.History, error) {
	files, err := filepath.Glob(filepath.Join(c.dir, folderEvents, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("collect histories: %w", err)
	}
	h, err := histories.Merge(c.header(), files)
	if err != nil {
		return nil, fmt.Errorf("collect histories: %w", err)
	}
	h.Ops = renumbered(nameExpiries(h.Ops))
	err = writeFile(filepath.Join(c.dir, report.FileHistory), func(f *os.File) error { return histories.EncodeJSONL(f, h) })
	if err != nil {
		return h, err
	}
	if err := os.RemoveAll(filepath.Join(c.dir, folderEvents)); err != nil {
		return h, fmt.Errorf("remove event files: %w", err)
	}
	return h, nil
}

func (c *cellRun) header() histories.Header {
	h := histories.Header{
		Fence: c.cell.Fence, Tokens: histories.TokensOrdered, Initial: c.initial(),
		Cell: c.name, Seed: histories.Some(c.plan.Config.Seed), Versions: c.store.Versions(),
		End: histories.Some(c.clock()),
	}
	if !c.cell.Lock.Tokens {
		h.Tokens = histories.TokensNone
	}
	for i := range c.cell.Settings.LockNames {
		h.Guards = append(h.Guards, histories.Guard{Lock: lockName(i), Resource: resourceName(i)})
	}
	return h
}
