//go:build linux

package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/workload/campaign"
)

// shown is a campaign.Progress that somebody can look at.
type shown interface {
	campaign.Progress
	Close()
}

func newProgress(w io.Writer, quiet bool, plan *campaign.Plan) shown {
	switch {
	case quiet:
		return silent{}
	case terminal(w):
		return &bars{progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(48)), plan: plan, cells: map[string]*cellBar{}}
	}
	return &lines{w: w, plan: plan, trials: map[string]int{}}
}

// silent shows nothing.
type silent struct{}

func (silent) Begin(string, string)                 {}
func (silent) Phase(string, string)                 {}
func (silent) Trial(string)                         {}
func (silent) Stale(string)                         {}
func (silent) Note(string)                          {}
func (silent) End(string, campaign.Outcome, string) {}
func (silent) Close()                               {}

// lineEvery is how often a cell that goes on says so, where there is no terminal.
const lineEvery = 10 * time.Second

// lines prints a plain line when something begins or ends, and now and then between.
type lines struct {
	mu     sync.Mutex
	w      io.Writer
	plan   *campaign.Plan
	trials map[string]int // by cell; cells of different stores run side by side
	last   time.Time
}

func (l *lines) say(format string, args ...any) {
	l.last = time.Now()
	fmt.Fprintln(l.w, report.Clean(fmt.Sprintf(format, args...)))
}

func (l *lines) Begin(run, seed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say("run %s, seed %s", run, seed)
}

func (l *lines) Phase(cell, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say("%s: %s", cell, what)
}

func (l *lines) Trial(cell string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trials[cell]++
	if time.Since(l.last) >= lineEvery {
		l.say("%s: %s", cell, count(l.plan, cell, l.trials[cell]))
	}
}

func (l *lines) Stale(string) {} // there is a note

func (l *lines) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say("%s", text)
}

func (l *lines) End(cell string, o campaign.Outcome, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say("%s: %s", cell, ended(o, why))
}

func (l *lines) Close() {}

func count(plan *campaign.Plan, cell string, trials int) string {
	if total := plan.Trials(cell); total > 0 {
		return fmt.Sprintf("%d of %d trials", trials, total)
	}
	return fmt.Sprintf("%d pauses", trials)
}

func ended(o campaign.Outcome, why string) string {
	switch {
	case o == campaign.Met:
		return "as expected"
	case why == "":
		return string(o)
	}
	return string(o) + ": " + why
}

// bars draws a bar for each cell, on a terminal.
type bars struct {
	progress *mpb.Progress
	plan     *campaign.Plan

	mu    sync.Mutex
	cells map[string]*cellBar
}

// cellBar is a bar and what stands beside it.
type cellBar struct {
	*mpb.Bar
	phase atomic.Pointer[string]
}

func (b *bars) Begin(run, seed string) {
	fmt.Fprintf(b.progress, "run %s, seed %s\n", report.Clean(run), seed)
}

func (b *bars) Phase(cell, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cells[cell] == nil {
		b.cells[cell] = b.newCell(cell)
	}
	b.cells[cell].phase.Store(&what)
}

func (b *bars) newCell(name string) *cellBar {
	c := &cellBar{}
	c.phase.Store(new(string))
	total := int64(b.plan.Trials(name))
	counters := decor.CountersNoUnit("%d/%d")
	if total == 0 { // nobody knows how many there will be
		counters = decor.CurrentNoUnit("%d")
	}
	c.Bar = b.progress.AddBar(total,
		mpb.PrependDecorators(decor.Name(report.Clean(name)+" ", decor.WCSyncSpaceR), counters),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return *c.phase.Load() })))
	return c
}

func (b *bars) of(cell string) *cellBar {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cells[cell]
}

func (b *bars) Trial(cell string) {
	if c := b.of(cell); c != nil {
		c.Increment()
	}
}

func (b *bars) Stale(string) {} // there is a note

func (b *bars) Note(text string) { fmt.Fprintln(b.progress, report.Clean(text)) }

func (b *bars) End(cell string, o campaign.Outcome, why string) {
	c := b.of(cell)
	if c == nil {
		return
	}
	text := report.Clean(ended(o, why))
	c.phase.Store(&text)
	c.Abort(false)
	c.Wait()
}

func (b *bars) Close() { b.progress.Wait() }
