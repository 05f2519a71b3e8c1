package campaign

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// storeStopLimit is how long all stores together may take to stop.
const storeStopLimit = time.Minute

// Progress is told what goes on. Its methods may be called from several goroutines.
type Progress interface {
	Begin(run, seed string)
	Phase(cell, what string) // a cell enters a phase
	Trial(cell string)       // a pause is over
	Stale(cell string)       // the first accepted operation of an older grant was seen
	Note(text string)        // something that whoever looks on should know
	End(cell string, o Outcome, why string)
}

// Env is what a campaign needs of the program that runs it.
type Env struct {
	Catalog  Catalog
	Starter  *child.Starter
	Progress Progress
	// ExitCode is written into the summary.
	ExitCode func(Outcome) int
	// Interrupted tells which signal ended the context, "" if none did.
	Interrupted func(context.Context) Outcome
	Version     string // of leasehold
	Reproduce   string // how to run it again; "": by the command line
	StateDir    string // folder of the index of ledgers (nemesis.StateDir)
}

// storeKey names a store that the campaign brings up once.
type storeKey struct {
	name     string
	topology store.Topology
}

func (k storeKey) String() string { return k.name + "@" + string(k.topology) }

// run is a campaign, while it runs.
type run struct {
	plan   *Plan
	env    Env
	dir    *RunDir
	stores map[storeKey]store.Store
	began  time.Time
	stalls *stallMeter
	safety *safety     // nil where nothing can outlive this process
	over   atomic.Bool // a violation that was not expected has ended it (Config.FailFast)
}

// id names the campaign, on labels and in keys.
func (r *run) id() string { return filepath.Base(r.dir.Path) }

// Run carries the plan out, cell by cell, and leaves a run directory. The summary
// is nil only if not even that could be created. The error tells what went wrong
// besides the verdicts; it is in the summary's exit code as well.
//
// When ctx ends, the cell at hand is healed and collected, and the summary holds
// what there is.
func Run(ctx context.Context, plan *Plan, env Env) (*report.Summary, error) {
	began := time.Now()
	dir, err := newRunDir(plan.Config.Out, plan.Config.Name, began)
	if err != nil {
		return nil, err
	}
	r := &run{plan: plan, env: env, dir: dir, stores: map[storeKey]store.Store{}, began: began, stalls: measureStalls()}
	env.Progress.Begin(dir.Path, strconv.FormatInt(plan.Config.Seed, 10))
	s := r.newSummary()
	outcome, err := r.cells(ctx, s)
	stopErr := r.stopStores()
	if e := errors.Join(stopErr, r.safety.close(stopErr == nil)); e != nil {
		err = errors.Join(err, e)
		outcome = WorstOutcome(outcome, Environment)
	}
	s.StallMS = float64(r.stalls.end().Microseconds()) / 1000
	if e := r.finish(s, outcome, err); e != nil {
		err = errors.Join(err, e)
		outcome = WorstOutcome(outcome, Environment)
		s.ExitCode = env.ExitCode(outcome)
	}
	return s, err
}

// cells runs all cells and returns the outcome that decides. Cells of one store
// follow each other; those of different stores run side by side.
func (r *run) cells(ctx context.Context, s *report.Summary) (Outcome, error) {
	if err := r.prepare(ctx); err != nil {
		return WorstOutcome(Environment, r.env.Interrupted(ctx)), err
	}
	groups := map[storeKey][]int{}
	for i, c := range r.plan.Cells {
		key := c.storeKey()
		groups[key] = append(groups[key], i)
	}
	results := make([]cellResult, len(r.plan.Cells))
	var g errgroup.Group
	for _, group := range groups {
		g.Go(func() error {
			for _, i := range group {
				results[i] = r.cell(ctx, r.plan.Cells[i])
			}
			return nil
		})
	}
	_ = g.Wait()
	outcome, errs := Met, []error(nil)
	for _, c := range results {
		outcome = WorstOutcome(outcome, c.outcome)
		if c.err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", c.row.Cell, c.err))
		}
		if c.ran {
			s.Cells = append(s.Cells, c.row)
		}
	}
	return outcome, errors.Join(errs...)
}

// prepare writes the resolved plan down, and finds out whether the host is fit.
func (r *run) prepare(ctx context.Context) error {
	text, err := yaml.Marshal(r.plan.Config)
	if err != nil {
		return fmt.Errorf("encode campaign: %w", err)
	}
	err = writeFile(filepath.Join(r.dir.Path, report.FileConfig), func(f *os.File) error {
		_, err := f.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.dir.linkAsLatest(); err != nil {
		return err
	}
	if r.outlasting() {
		if r.safety, err = r.guard(ctx); err != nil {
			return err
		}
	}
	if err := r.startStores(ctx); err != nil {
		return err
	}
	return r.fit(ctx)
}

// How often, and for how long each time, the host is given a chance to show that it
// does not stall: bringing the stores up is a burst of work that passes.
const (
	fitTries  = 20
	fitWindow = 250 * time.Millisecond
)

// fit refuses a ttl that the host's own stalls come near to.
func (r *run) fit(ctx context.Context) error {
	ttl := time.Duration(math.MaxInt64)
	for _, c := range r.plan.Cells {
		ttl = min(ttl, c.Lock.Effective(c.Settings.TTL))
	}
	var stall time.Duration
	for range fitTries {
		m := measureStalls()
		select {
		case <-time.After(fitWindow):
		case <-ctx.Done():
		}
		if stall = m.end(); ctx.Err() != nil || ttl >= StallFactor*stall {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("this host stands still for up to %s, over and over; a ttl of %s is less than %d times that, and leases would run out without a fault: take a longer --ttl",
		stall.Round(time.Millisecond), ttl, StallFactor)
}

// outlasting tells whether the campaign creates what would outlive it.
func (r *run) outlasting() bool {
	for _, c := range r.plan.Cells {
		keys := []storeKey{c.storeKey()}
		if key, ok := r.resourceStore(c); ok {
			keys = append(keys, key)
		}
		for _, key := range keys {
			kind, err := r.env.Catalog.store(key.name)
			if err != nil {
				continue
			}
			if way, err := kind.provider(r.plan.Config.Provision, key.topology); err == nil && way.Provision == store.Container {
				return true
			}
		}
	}
	return false
}

// startStores brings up every store that a cell needs, side by side.
func (r *run) startStores(ctx context.Context) error {
	var keys []storeKey
	add := func(k storeKey) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, c := range r.plan.Cells {
		add(c.storeKey())
		if key, ok := r.resourceStore(c); ok {
			add(key)
		}
	}
	started := make([]store.Store, len(keys))
	var g errgroup.Group
	for i, key := range keys {
		g.Go(func() (err error) {
			started[i], err = r.startStore(ctx, key)
			return err
		})
	}
	err := g.Wait()
	for i, s := range started {
		if s != nil {
			r.stores[keys[i]] = s
		}
	}
	return err
}

// resourceStore is the store that the cell's resource lives in, false if it has a
// server of its own. A resource shares the lock's store where both are of one kind.
func (r *run) resourceStore(c Cell) (storeKey, bool) {
	switch c.Resource.Store {
	case "":
		return storeKey{}, false
	case c.Lock.Store:
		return c.storeKey(), true
	}
	s, err := r.env.Catalog.store(c.Resource.Store)
	if err != nil {
		return storeKey{}, false
	}
	return storeKey{s.Name, s.Topologies[0]}, true
}

func (r *run) startStore(ctx context.Context, key storeKey) (store.Store, error) {
	kind, err := r.env.Catalog.store(key.name)
	if err != nil {
		return nil, err
	}
	way, err := kind.provider(r.plan.Config.Provision, key.topology)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.dir.Path, "store-"+folder(key.String()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create store folder: %w", err)
	}
	note := func(text string) { r.env.Progress.Note(key.String() + ": " + text) }
	note("starting, " + string(way.Provision))
	s, err := way.Start(ctx, r.env.Starter, store.Options{
		Campaign: r.id(), Dir: dir, Topology: key.topology,
		Image: r.plan.Config.Images[key.name], Endpoints: r.plan.Config.Endpoints, Progress: note,
	})
	if err != nil {
		return nil, fmt.Errorf("start store %s: %w", key, err)
	}
	return s, nil
}

func (r *run) stopStores() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeStopLimit)
	defer cancel()
	var g errgroup.Group
	errs := make([]error, len(r.stores))
	i := 0
	for key, s := range r.stores {
		slot := &errs[i]
		i++
		g.Go(func() error {
			if err := s.Stop(ctx); err != nil {
				*slot = fmt.Errorf("stop store %s: %w", key, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(errs...)
}

// cellResult is what came of a cell.
type cellResult struct {
	row     report.Cell
	outcome Outcome
	err     error
	ran     bool // false: the campaign ended before its turn
}

// cell runs one cell and has it judged.
func (r *run) cell(ctx context.Context, c Cell) cellResult {
	if o := r.env.Interrupted(ctx); o != "" {
		return cellResult{outcome: o}
	}
	name := c.Name()
	if r.over.Load() {
		r.env.Progress.Note(name + ": not run, after a violation (fail-fast)")
		return cellResult{outcome: Met}
	}
	row := r.newCell(c, name)
	began := time.Now()
	j, err := r.play(ctx, c, name, &row)
	row.Outcome, row.Why = string(j.Outcome), j.Why
	row.Met = j.Outcome == Met
	if j.Outcome == Violated && r.plan.Config.FailFast {
		r.over.Store(true)
	}
	row.DurationMS = time.Since(began).Milliseconds()
	if row.Verdict == "" {
		row.Verdict = checker.Unknown
	}
	r.env.Progress.End(name, j.Outcome, j.Why)
	return cellResult{row: row, outcome: j.Outcome, err: err, ran: true}
}

// play runs the cell, fills in its row, and says what that means.
func (r *run) play(ctx context.Context, c Cell, name string, row *report.Cell) (Judged, error) {
	run, err := r.newCellRun(c, name)
	if err != nil {
		return Judged{Environment, err.Error()}, err
	}
	r.env.Progress.Phase(name, "running")
	h, runErr := run.run(ctx)
	row.Notes = run.notes
	if h == nil || errors.Is(runErr, errIncomplete) {
		return Judged{Environment, oneLine(runErr)}, runErr
	}
	r.env.Progress.Phase(name, "judging")
	// An interrupted campaign still gets what it has judged.
	result, err := checker.Check(context.WithoutCancel(ctx), h, checker.Options{})
	if err != nil {
		return Judged{Internal, err.Error()}, err
	}
	row.Judged(result)
	markUnexpected(row, result, c.Expect)
	err = r.writePages(c, name, run.dir, h, result)
	j := c.judge(result)
	cut := r.env.Interrupted(ctx)
	if cut != "" {
		why := "interrupted before it was complete"
		if j.Outcome == Violated {
			why = j.Why + ", and " + why
		}
		j = Judged{WorstOutcome(violationOnly(j.Outcome), cut), why}
	}
	if err = errors.Join(runErr, err); err != nil && cut == "" {
		j = Judged{WorstOutcome(violationOnly(j.Outcome), Environment), oneLine(err)}
	}
	if row.Verdict == checker.Valid && j.Outcome != Met && j.Outcome != Inconclusive {
		row.Verdict = checker.Unknown // of what should have been there only a part was
	}
	return j, err
}

// markUnexpected marks the properties that fail the cell. The violation to be told is
// then one of those: in a control the stale write is as it should be, and would hide the
// double grant that is not.
func markUnexpected(row *report.Cell, result checker.Result, e Expect) {
	told := false
	for i, p := range result.Properties {
		row.Properties[i].Unexpected = fails(p, e)
		if row.Properties[i].Unexpected && !told && len(p.Witnesses) > 0 {
			w := p.Witnesses[0]
			row.Violation, row.Cause, told = &w, p.Cause, true
		}
	}
}

func (r *run) newCellRun(c Cell, name string) (*cellRun, error) {
	dir, err := r.dir.cell(name)
	if err != nil {
		return nil, err
	}
	kind, err := r.env.Catalog.store(c.Lock.Store)
	if err != nil {
		return nil, err
	}
	run := &cellRun{
		plan: r.plan, cell: c, name: name, dir: dir, starter: r.env.Starter, progress: r.env.Progress, storeKind: kind,
		store:  r.stores[c.storeKey()],
		prefix: "leasehold/" + r.id() + "/" + folder(name) + "/",
	}
	if key, ok := r.resourceStore(c); ok {
		run.resourceStore = r.stores[key]
	}
	return run, nil
}

// oneLine is the text of an error that may be several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// violationOnly keeps a violation, which nothing masks, and drops what a cell that
// was cut short or hampered can't claim.
func violationOnly(o Outcome) Outcome {
	if o == Violated {
		return o
	}
	return Met
}
