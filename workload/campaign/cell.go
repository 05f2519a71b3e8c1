package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/store"
)

const (
	startLimit = 30 * time.Second // for all workers of a cell to connect
	stopLimit  = 15 * time.Second // for all of them to finish what they are at
	finalLimit = 5 * time.Second  // for one of the last reads
)

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
	nemesis  *histories.Recorder
	files    []*os.File
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
	c.origin = monotonic.Now()
	c.board = newBoard()
	if c.namespace, err = monotonic.Namespace(); err != nil {
		return err
	}
	if err := c.storeKind.Empty(ctx, c.store.Endpoints(), c.prefix); err != nil {
		return fmt.Errorf("prove store clean: %w", err)
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
	startErr := c.startWorkers(ctx)
	if startErr == nil {
		c.act(ctx)
	}
	stopErr := c.stopWorkers()
	if startErr != nil {
		return errors.Join(startErr, stopErr)
	}
	return errors.Join(stopErr, c.finalReads())
}

func (c *cellRun) startResource(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	o := resource.ServerOptions{Dir: c.dir, Fence: c.cell.Fence, Initial: c.initial()}
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
	c.nemesis = histories.NewRecorder(f, histories.Nemesis, c.clock)
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
	for i := range c.plan.Config.LockNames {
		for range c.plan.Config.Workers {
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
			Lock: c.cell.Lock.Name, Endpoints: c.store.Endpoints(), Prefix: c.prefix, LockName: lockName(lockIndex), TTLMS: k.TTL.Milliseconds(),
			Resource: c.cell.Resource.Name, ResourceEndpoint: c.resource.Endpoint(), ResourceName: resourceName(lockIndex),
			Guard: c.cell.Guard, WorkUS: k.Work.Microseconds(), Mode: k.Mode, Seed: uint64(k.Seed),
			OpLimitMS: (10*c.cell.Pause + time.Minute).Milliseconds(),
		},
	})
	if err != nil {
		return err
	}
	w := &worker{Process: p, lockName: lockName(lockIndex), board: c.board}
	c.workers = append(c.workers, w)
	go c.board.follow(w)
	return nil
}

// of returns the workers of one lock name.
func (c *cellRun) of(lockIndex int) []*worker {
	n := c.plan.Config.Workers
	return c.workers[lockIndex*n : (lockIndex+1)*n]
}

// stopWorkers ends all workers, side by side. One that had died before is put on
// record: it is nobody's violation, but a reader must know.
func (c *cellRun) stopWorkers() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var g errgroup.Group
	errs := make([]error, len(c.workers))
	for i, w := range c.workers {
		if !w.alive() {
			c.died(w)
			continue
		}
		g.Go(func() error {
			errs[i] = w.Close(ctx)
			return nil
		})
	}
	_ = g.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop workers: %w", err)
	}
	return nil
}

// died records that a worker had ended without having been asked to.
func (c *cellRun) died(w *worker) {
	text := fmt.Sprintf("worker %s had ended by itself", w.Name())
	if err := w.Err(); err != nil {
		text += ": " + err.Error()
	}
	c.notes = append(c.notes, text)
	id, err := c.nemesis.Invoke(histories.Operation{F: "note", Text: text})
	if err == nil {
		_ = c.nemesis.Answer(id, histories.Operation{Type: histories.OK})
	}
}

// act lets the nemesis loose.
func (c *cellRun) act(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, c.plan.Config.TimeLimit)
	defer cancel()
	var g errgroup.Group
	for i := range c.plan.Config.LockNames {
		g.Go(func() error {
			switch {
			case c.plan.Config.Fault == FaultNoop:
				<-limit.Done()
			case c.plan.Config.Mode == workload.Random:
				c.strikeAtRandom(ctx, limit, i)
			default:
				c.direct(limit, i)
			}
			return nil
		})
	}
	_ = g.Wait()
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
	for i := range c.plan.Config.LockNames {
		id, err := rec.Invoke(histories.Operation{F: histories.Read, Resource: resourceName(i)})
		if err != nil {
			return fmt.Errorf("read at the end: %w", err)
		}
		answer := histories.Operation{Type: histories.OK}
		got, err := client.Read(ctx, resourceName(i), resource.Token{})
		if err != nil {
			answer = histories.Operation{Type: histories.Info, Error: err.Error()}
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
	for i := range c.plan.Config.LockNames {
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
	h.Ops = nameExpiries(h.Ops)
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
	for i := range c.plan.Config.LockNames {
		h.Guards = append(h.Guards, histories.Guard{Lock: lockName(i), Resource: resourceName(i)})
	}
	return h
}
