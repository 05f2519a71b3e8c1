package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// Progress is told what goes on. Its methods may be called from several goroutines.
type Progress interface {
	Begin(run, seed string)
	Phase(cell, what string) // a cell enters a phase
	Trial(cell string)       // a pause is over
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
}

// run is a campaign, while it runs.
type run struct {
	plan   *Plan
	env    Env
	dir    *RunDir
	stores map[string]store.Store
	began  time.Time
	stalls *stallMeter
}

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
	r := &run{plan: plan, env: env, dir: dir, stores: map[string]store.Store{}, began: began, stalls: measureStalls()}
	env.Progress.Begin(dir.Path, strconv.FormatInt(plan.Config.Seed, 10))
	s := r.newSummary()
	outcome, err := r.cells(ctx, s)
	if e := r.stopStores(); e != nil {
		err = errors.Join(err, e)
		outcome = WorstOutcome(outcome, Environment)
	}
	s.StallMS = float64(r.stalls.end().Microseconds()) / 1000
	if e := r.finish(s, outcome); e != nil {
		err = errors.Join(err, e)
		outcome = WorstOutcome(outcome, Environment)
		s.ExitCode = env.ExitCode(outcome)
	}
	return s, err
}

// cells runs all cells and returns the outcome that decides.
func (r *run) cells(ctx context.Context, s *report.Summary) (Outcome, error) {
	if err := r.prepare(ctx); err != nil {
		return Environment, err
	}
	outcome, errs := Met, []error(nil)
	for _, c := range r.plan.Cells {
		if o := r.env.Interrupted(ctx); o != "" {
			outcome = WorstOutcome(outcome, o)
			break
		}
		cell, o, err := r.cell(ctx, c)
		s.Cells = append(s.Cells, cell)
		if err != nil {
			errs = append(errs, fmt.Errorf("cell %s: %w", cell.Cell, err))
		}
		outcome = WorstOutcome(outcome, o)
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
	for _, c := range r.plan.Cells {
		if err := r.startStore(ctx, c.Lock.Store); err != nil {
			return err
		}
	}
	return r.fit()
}

// fit refuses a ttl that the host's own stalls come near to. Starting the stores
// has shown by now how badly the host can stall.
func (r *run) fit() error {
	ttl := r.plan.Config.TTL
	for _, c := range r.plan.Cells {
		ttl = max(ttl, c.Lock.LeastTTL)
	}
	if stall := r.stalls.worstSoFar(); ttl < StallFactor*stall {
		return fmt.Errorf("this host stands still for up to %s; a ttl of %s is less than %d times that, and leases would run out without a fault: take a longer --ttl",
			stall.Round(time.Millisecond), ttl, StallFactor)
	}
	return nil
}

func (r *run) startStore(ctx context.Context, name string) error {
	if r.stores[name] != nil {
		return nil
	}
	kind, err := r.env.Catalog.store(name)
	if err != nil {
		return err
	}
	r.env.Progress.Note("starting " + name)
	dir := filepath.Join(r.dir.Path, "store-"+name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create store folder: %w", err)
	}
	if r.stores[name], err = kind.Start(ctx, r.env.Starter, dir); err != nil {
		return fmt.Errorf("start store %s: %w", name, err)
	}
	return nil
}

func (r *run) stopStores() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var errs []error
	for name, s := range r.stores {
		if s == nil {
			continue
		}
		if err := s.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop store %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// cell runs one cell and has it judged.
func (r *run) cell(ctx context.Context, c Cell) (report.Cell, Outcome, error) {
	name := r.plan.Name(c)
	out := r.newCell(c, name)
	began := time.Now()
	dir, err := r.dir.cell(name)
	if err != nil {
		return r.ended(out, Judged{Environment, err.Error()}, began), Environment, err
	}
	kind, err := r.env.Catalog.store(c.Lock.Store)
	if err != nil {
		return r.ended(out, Judged{Environment, err.Error()}, began), Environment, err
	}
	run := &cellRun{
		plan: r.plan, cell: c, name: name, dir: dir, starter: r.env.Starter, store: r.stores[c.Lock.Store], storeKind: kind,
		prefix: "leasehold/" + filepath.Base(r.dir.Path) + "/" + folder(name) + "/", progress: r.env.Progress,
	}
	r.env.Progress.Phase(name, "running")
	h, runErr := run.run(ctx)
	out.Notes = run.notes
	if h == nil {
		return r.ended(out, Judged{Environment, runErr.Error()}, began), Environment, runErr
	}
	r.env.Progress.Phase(name, "judging")
	// An interrupted campaign still gets what it has judged.
	result, err := checker.Check(context.WithoutCancel(ctx), h, checker.Options{})
	if err != nil {
		return r.ended(out, Judged{Internal, err.Error()}, began), Internal, err
	}
	out.Judged(result)
	writeErr := r.writePages(c, name, dir, h, result)
	j := r.plan.judge(c, result)
	if o := r.env.Interrupted(ctx); o != "" {
		j = Judged{WorstOutcome(violationOnly(j.Outcome), o), "interrupted before it was complete"}
		runErr = nil
	}
	if e := errors.Join(runErr, writeErr); e != nil {
		j.Outcome = WorstOutcome(violationOnly(j.Outcome), Environment)
		j.Why = e.Error()
		return r.ended(out, j, began), j.Outcome, e
	}
	return r.ended(out, j, began), j.Outcome, nil
}

// violationOnly keeps a violation, which nothing masks, and drops what a cell that
// was cut short or hampered can't claim.
func violationOnly(o Outcome) Outcome {
	if o == Violated {
		return o
	}
	return Met
}

// ended completes the cell's row, and tells.
func (r *run) ended(out report.Cell, j Judged, began time.Time) report.Cell {
	out.Outcome, out.Why = string(j.Outcome), j.Why
	out.Met = j.Outcome == Met
	out.DurationMS = time.Since(began).Milliseconds()
	if out.Verdict == "" {
		out.Verdict = checker.Unknown
	}
	r.env.Progress.End(out.Cell, j.Outcome, j.Why)
	return out
}
