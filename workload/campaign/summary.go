package campaign

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/checker/timeline"
	"github.com/leasehold-checker/leasehold/histories"
)

func (r *run) newSummary() *report.Summary {
	return &report.Summary{
		Version:   report.SummaryVersion,
		Name:      r.plan.Config.Name,
		Seed:      r.plan.Config.Seed,
		Verdict:   checker.Unknown,
		Reproduce: r.reproduce(),
		Started:   r.began.UTC().Format(time.RFC3339),
		Dir:       r.dir.Path,
		Cells:     []report.Cell{},
	}
}

// newCell is the row of a cell of which nothing is known yet.
func (r *run) newCell(c Cell, name string) report.Cell {
	out := report.Cell{
		Cell: name, Lock: c.LockName(), Resource: c.Resource.Name, Guard: string(c.Guard), Fence: c.Fence,
		Fault: c.FaultName(), Point: c.Point, Expect: string(c.Expect), Control: c.Control, Dir: folder(name),
		Started: time.Now().UTC().Format(time.RFC3339),
	}
	if c.asksLost() {
		out.Question = checker.LostUpdate
	}
	if c.Expect != ExpectAny {
		f := c.Settings.Floors
		out.Floor = report.Floor{Conclusive: c.Floor(), StaleAttempts: f.StaleAttempts, Operations: f.Operations}
	}
	if s := r.stores[c.storeKey()]; s != nil {
		out.Store = strings.TrimSpace(s.Kind() + " " + s.Versions()[s.Kind()])
	}
	return out
}

// finish writes the run's own files. The manifest comes last.
func (r *run) finish(s *report.Summary, outcome Outcome, err error) error {
	s.Versions = map[string]string{"leasehold": r.env.Version, "go": runtime.Version()}
	for _, st := range r.stores {
		if st != nil {
			maps.Copy(s.Versions, st.Versions())
		}
	}
	if err != nil {
		s.Why = oneLine(err)
	}
	s.Verdict = checker.Valid
	for _, c := range s.Cells {
		s.Verdict = checker.Worst(s.Verdict, c.Verdict)
	}
	if len(s.Cells) == 0 {
		s.Verdict = checker.Unknown
	}
	s.ExitCode = r.env.ExitCode(outcome)
	if outcome == Inconclusive && r.plan.Config.Inconclusive == InconclusiveWarn {
		s.Outcome = "INCONCLUSIVE: not everything that had to be shown was shown; it passes only because inconclusive=warn was asked for"
	}
	s.DurationMS = time.Since(r.began).Milliseconds()
	if err := writeJSON(filepath.Join(r.dir.Path, report.FileSummary), s); err != nil {
		return err
	}
	err = writeFile(filepath.Join(r.dir.Path, report.FileReport), func(f *os.File) error { return report.WriteHTML(f, *s) })
	if err != nil {
		return err
	}
	return writeJSON(filepath.Join(r.dir.Path, report.FileManifest), map[string]any{
		"version": 1, "exit_code": s.ExitCode, "cells": len(s.Cells), "finished": time.Now().UTC(),
	})
}

// writePages leaves the result of a cell, and its pictures.
func (r *run) writePages(c Cell, name, dir string, h *histories.History, result checker.Result) error {
	if err := writeJSON(filepath.Join(dir, report.FileResult), result); err != nil {
		return err
	}
	o := timeline.Options{Title: name, Reproduce: r.reproduce(), Links: r.links(c)}
	err := writeFile(filepath.Join(dir, report.FileTimeline), func(f *os.File) error { return timeline.Write(f, h, result, o) })
	if err != nil {
		return err
	}
	err = writeFile(filepath.Join(dir, report.FilePorcupine), func(f *os.File) error { return checker.WritePorcupine(f, h, result) })
	if err != nil && !errors.Is(err, checker.ErrNoResource) {
		return err
	}
	return writeWitnesses(dir, result)
}

// links lead from a cell's timeline to its neighbours.
func (r *run) links(c Cell) []timeline.Link {
	links := []timeline.Link{
		{Text: "Porcupine's view", Href: report.FilePorcupine},
		{Text: "the history", Href: report.FileHistory},
		{Text: "all cells", Href: "../" + report.FileReport},
	}
	for _, o := range r.plan.Cells {
		if o.LockName() == c.LockName() && o.Resource.Name == c.Resource.Name && o.Guard == c.Guard && o.Point == c.Point && o.Fence != c.Fence {
			links = append(links, timeline.Link{
				Text: "the same with fence " + string(o.Fence),
				Href: "../" + folder(o.Name()) + "/" + report.FileTimeline,
			})
		}
	}
	return links
}

// writeWitnesses leaves each witness as text for people and as a history of its own.
func writeWitnesses(dir string, result checker.Result) error {
	n := 0
	for _, p := range result.Properties {
		for i := range p.Witnesses {
			n++
			w := &p.Witnesses[i]
			if err := writeText(filepath.Join(dir, fmt.Sprintf("witness-%d.txt", n)), story(p.Property, w)); err != nil {
				return err
			}
			if err := writeText(filepath.Join(dir, fmt.Sprintf("witness-%d.hist", n)), w.Histories); err != nil {
				return err
			}
		}
	}
	return nil
}

func story(p checker.Property, w *checker.Witness) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s\n\n", p, report.Clean(w.Title))
	for i, s := range w.Story {
		fmt.Fprintf(&text, "%d. %s\n", i+1, report.Clean(s.Text))
	}
	return text.String()
}

func writeText(path, text string) error {
	return writeFile(path, func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
}

// reproduce is the command line that runs the same plan again: with flags where those
// can say it, otherwise with the resolved plan in the run directory.
func (r *run) reproduce() string {
	c := r.plan.Config
	if r.env.Reproduce != "" {
		return r.env.Reproduce
	}
	if len(c.Cells) > 0 || !reflect.ValueOf(c.Floors).IsZero() {
		return "leasehold run -c " + filepath.Join(r.dir.Path, report.FileConfig)
	}
	return c.Command()
}

// Command is the command line that runs the same plan again, if it is one block of
// cells without floors of its own. It says what differs from the default.
func (c Config) Command() string {
	d := Default()
	words := []string{"leasehold run"}
	list := func(flag string, value, def []string) {
		if !slices.Equal(value, def) {
			words = append(words, "--"+flag, strings.Join(value, ","))
		}
	}
	one := func(flag, value, def string) {
		if value != def {
			words = append(words, "--"+flag, value)
		}
	}
	if c.Driver == "" {
		list("lock", c.Locks, d.Locks)
	}
	one("driver", quoted(c.Driver), "")
	one("driver-store", c.DriverStore, "")
	list("resource", c.Resources, d.Resources)
	list("guard", texts(c.Guards), texts(d.Guards))
	list("fence", texts(c.Fences), nil)
	list("point", texts(c.Points), texts(d.Points))
	one("provision", string(c.Provision), "")
	list("pair", c.Pairs, nil)
	one("token", c.Token, "")
	list("endpoint", c.Endpoints, nil)
	for _, kind := range slices.Sorted(maps.Keys(c.Images)) {
		words = append(words, "--image", kind+"="+c.Images[kind])
	}
	one("fault", c.Fault, d.Fault)
	one("mode", string(c.Mode), string(d.Mode))
	one("until", string(c.Until), string(d.Until))
	one("pause", c.Pause.String(), d.Pause.String())
	one("ttl", c.TTL.String(), d.TTL.String())
	one("work", c.Work.String(), d.Work.String())
	one("time-limit", c.TimeLimit.String(), d.TimeLimit.String())
	one("trials", strconv.Itoa(c.Trials), strconv.Itoa(d.Trials))
	one("locks", strconv.Itoa(c.LockNames), strconv.Itoa(d.LockNames))
	one("workers", strconv.Itoa(c.Workers), strconv.Itoa(d.Workers))
	one("expect", string(c.Expect), string(d.Expect))
	one("budget", c.Budget.String(), d.Budget.String())
	if c.NoControl {
		words = append(words, "--no-control")
	}
	return strings.Join(append(words, "--seed", strconv.FormatInt(c.Seed, 10)), " ")
}

// quoted is a text as a shell takes it.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func texts[T ~string](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return out
}
