package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	joshdk "github.com/joshdk/go-junit"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
)

// everyOutcome is a campaign with a cell of each kind.
func everyOutcome() report.Summary {
	s := demo()
	gate := func(p checker.Property, v checker.Verdict, checked, violations int, unexpected bool) report.CellProperty {
		return report.CellProperty{Property: p, Verdict: v, Role: checker.Gate, Checked: checked, Violations: violations, Unexpected: unexpected}
	}
	s.Cells[0].Properties = []report.CellProperty{gate(checker.StaleWrite, checker.Invalid, 90, 31, false)} // the control
	s.Cells[1].Properties = []report.CellProperty{gate(checker.StaleWrite, checker.Valid, 90, 0, false), gate(checker.TokenOrder, checker.Valid, 0, 0, false)}
	violated := report.Cell{Cell: "redis-set/register/none/off/pause-checked", Expect: "clean", Fence: histories.FenceOff, Verdict: checker.Invalid, Outcome: "violation",
		Why: "stale-write is invalid", Violation: witness(), Properties: []report.CellProperty{gate(checker.StaleWrite, checker.Invalid, 9, 2, true), gate(checker.Exclusion, checker.Unknown, 3, 0, false)}}
	vague := report.Cell{Cell: "zk-recipe/register/none/off/pause-checked", Expect: "clean", Fence: histories.FenceOff, Verdict: checker.Valid, Outcome: "inconclusive", Why: "3 conclusive trials, at least 20 are needed"}
	broken := report.Cell{Cell: "pg-row/register/none/off/pause-checked", Expect: "clean", Fence: histories.FenceOff, Verdict: checker.Unknown, Outcome: "environment", Why: "the store\x1b[31m did not start ]]> & <so> on"}
	s.Cells = append(s.Cells, violated, vague, broken)
	s.ExitCode = 1
	return s
}

// TestJUnitIsReadBack: a parser of somebody else finds every case, with the right
// status, under names that no run changes.
func TestJUnitIsReadBack(t *testing.T) {
	s := everyOutcome()
	var b bytes.Buffer
	if err := report.WriteJUnit(&b, s); err != nil {
		t.Fatal(err)
	}
	suites, err := joshdk.Ingest(b.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if len(suites) != len(s.Cells) {
		t.Fatalf("%d suites, want one for each of %d cells", len(suites), len(s.Cells))
	}
	got := map[string]joshdk.Status{}
	for _, suite := range suites {
		if suite.Properties["seed"] != fmt.Sprint(s.Seed) {
			t.Errorf("%s: seed %q", suite.Name, suite.Properties["seed"])
		}
		for _, test := range suite.Tests {
			got[test.Classname+" "+test.Name] = test.Status
		}
	}
	off, all, redis := s.Cells[0].Cell, s.Cells[1].Cell, s.Cells[2].Cell
	for name, want := range map[string]joshdk.Status{
		off + " stale-write": joshdk.StatusPassed, off + " as-expected": joshdk.StatusPassed,
		all + " stale-write": joshdk.StatusPassed, all + " token-order": joshdk.StatusSkipped,
		redis + " stale-write": joshdk.StatusFailed, redis + " exclusion": joshdk.StatusError, redis + " as-expected": joshdk.StatusFailed,
		s.Cells[3].Cell + " as-expected": joshdk.StatusError, s.Cells[4].Cell + " as-expected": joshdk.StatusError,
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if strings.ContainsRune(b.String(), '\x1b') {
		t.Error("a control character came through")
	}
	if !strings.Contains(b.String(), "Worker 1 held the lock under token 33") {
		t.Error("the failure does not tell the story")
	}
	s.Seed++
	var other bytes.Buffer
	if err := report.WriteJUnit(&other, s); err != nil {
		t.Fatal(err)
	}
	names := func(text string) (list []string) {
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "<testcase") || strings.Contains(line, "<testsuite ") {
				list = append(list, line)
			}
		}
		return list
	}
	if fmt.Sprint(names(b.String())) != fmt.Sprint(names(other.String())) {
		t.Error("another seed gives other names")
	}
}

// TestMarkdownOf500Cells stays within what a job summary may have, and still tells
// what went wrong.
func TestMarkdownOf500Cells(t *testing.T) {
	s := everyOutcome()
	bad := s.Cells[2]
	for i := range 500 {
		c := s.Cells[1]
		c.Cell = fmt.Sprintf("a-rather-long-lock-name-%d/register/check/all/pause-before-write-until-read", i)
		c.Lock = fmt.Sprint(i)
		s.Cells = append(s.Cells, c)
	}
	bad.Cell, bad.Why = "the-last-cell", strings.Repeat("why ", 100_000)
	s.Cells = append(s.Cells, bad)
	var b bytes.Buffer
	if err := report.WriteMarkdown(&b, s); err != nil {
		t.Fatal(err)
	}
	if b.Len() > report.MarkdownLimit {
		t.Errorf("%d bytes", b.Len())
	}
	for _, want := range []string{"the-last-cell", "a-rather-long-lock-name-499", "stopped right after the check", "Again: "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("without %q", want)
		}
	}
	for i := range 5000 {
		c := s.Cells[1]
		c.Cell = fmt.Sprintf("another-rather-long-lock-name-%d/register/check/all/pause-before-write-until-read", i)
		s.Cells = append(s.Cells, c)
	}
	b.Reset()
	if err := report.WriteMarkdown(&b, s); err != nil {
		t.Fatal(err)
	}
	if b.Len() > report.MarkdownLimit || !strings.Contains(b.String(), "more cells are in summary.json") || !strings.Contains(b.String(), "the-last-cell") {
		t.Errorf("%d bytes for 5,500 cells", b.Len())
	}
}

// TestMarkdownMeansNothingElse: what comes from outside is text, and mentions nobody.
func TestMarkdownMeansNothingElse(t *testing.T) {
	s := everyOutcome()
	s.Cells[4].Why = "<img src=x onerror=alert(1)> | @somebody **bold**\n# title"
	s.Cells[4].Cell = "a`|b"
	var b bytes.Buffer
	if err := report.WriteMarkdown(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<img", "@somebody", "**bold**", "\n# title", "a`|b"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%q came through:\n%s", bad, b.String())
		}
	}
	golden(t, "summary.md", b.String())
}

// TestAnnotations: one a bad cell, violations first, never more than ten, each on a line.
func TestAnnotations(t *testing.T) {
	s := everyOutcome()
	for range 20 {
		s.Cells = append(s.Cells, s.Cells[2])
	}
	var b bytes.Buffer
	if err := report.WriteAnnotations(&b, s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 10 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "::error title=leasehold%3A redis-set") || !strings.Contains(line, "%0A1. Worker 1 held") {
			t.Errorf("annotation %q", line)
		}
	}
}
