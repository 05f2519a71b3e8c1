package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

func witness() *checker.Witness {
	return &checker.Witness{
		Lock: "L", Resource: "R", Cause: histories.CausePaused, Title: "a stale write was accepted, and an update was lost", Stale: 8,
		Story: []checker.Sentence{
			{Text: "Worker 1 held the lock under token 33, checked that it did, and was stopped right after the check (0.500 s)."},
			{Text: "Its lease ran out by 2.605 s: the store did the right thing.", Mood: checker.Right},
			{Text: "Worker 2 had been waiting and was granted token 34 at 2.610 s."},
			{Text: "It wrote b1; the resource took it as number 1."},
			{Text: "Worker 1 went on at 4.000 s, still believed that it held the lock, and wrote a1 under token 33: accepted as number 2, and b1 is gone.", Mood: checker.Wrong},
		},
	}
}

// demo is a fenced cell and its control.
func demo() report.Summary {
	off := report.Cell{Cell: "etcd-mutex/register/check/off/pause-checked", Lock: "etcd-mutex", Resource: "register", Guard: "check", Fence: histories.FenceOff, Fault: "pause",
		Point: histories.PointChecked, Store: "etcd 3.7.3", Expect: "violation", Control: true, Verdict: checker.Invalid, Met: true, Cause: histories.CausePaused,
		Trials: 36, Pauses: 36, Conclusive: 32, Violated: 31, StaleAttempted: 31, StaleAccepted: 31, LostUpdates: 31, Exposures: 2,
		Floor: report.Floor{Conclusive: 20}, Dir: "etcd-mutex_register_check_off_pause-checked", Violation: witness()}
	all := report.Cell{Cell: "etcd-mutex/register/check/all/pause-checked", Lock: "etcd-mutex", Resource: "register", Guard: "check", Fence: histories.FenceAll, Fault: "pause",
		Point: histories.PointChecked, Store: "etcd 3.7.3", Expect: "clean", Verdict: checker.Valid, Met: true,
		Trials: 66, Pauses: 66, Conclusive: 64, StaleAttempted: 64, StaleRefused: 64,
		Floor: report.Floor{Conclusive: 20}, Dir: "etcd-mutex_register_check_all_pause-checked"}
	return report.Summary{Version: 1, Name: "demo", Seed: 7, Verdict: checker.Invalid, ExitCode: 0, Cells: []report.Cell{off, all}, Started: "2026-11-29T20:00:00Z", DurationMS: 41250,
		Versions: map[string]string{"leasehold": "0.1", "etcd server": "3.7.3", "go": "1.26.0"}, Reproduce: "leasehold run --lock etcd-mutex --fence all --seed 7", Dir: "runs/20261129T200000Z-demo-3f2a"}
}

// surprise is a fenced cell that violates, one that could not be run, and one
// that was not put to the test.
func surprise() report.Summary {
	s := demo()
	s.ExitCode, s.Cells[1].Verdict, s.Cells[1].Met, s.Cells[1].Violation, s.Cells[1].StaleAccepted = 1, checker.Invalid, false, witness(), 2
	s.Cells[0].Violation = nil
	s.Cells[0].Notes = []string{"worker 3 died: exit status 2"}
	broken := report.Cell{Cell: "redis-set/register/none/all/pause-checked", Expect: "clean", Verdict: checker.Unknown, Error: "start store: no answer within 10 s"}
	empty := report.Cell{Cell: "etcd-election/register/ask/all/none", Fence: histories.FenceAll, Guard: "ask", Fault: "none", Expect: "clean", Verdict: checker.Valid, Floor: report.Floor{Conclusive: 20}}
	s.Cells = append(s.Cells, broken, empty)
	return s
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		summary report.Summary
		options report.TextOptions
	}{
		{"demo.golden", demo(), report.TextOptions{Width: 140}},
		{"demo-100.golden", demo(), report.TextOptions{Width: 100}},
		{"demo-color.golden", demo(), report.TextOptions{Color: true}},
		{"surprise.golden", surprise(), report.TextOptions{}},
		{"empty.golden", report.Summary{ExitCode: 2, Why: "there was no cell to run"}, report.TextOptions{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := report.WriteText(&b, c.summary, c.options); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name, b.String())
		})
	}
}

func TestTextFitsTheWidth(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report.WriteText(&b, surprise(), report.TextOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func result() checker.Result {
	w, margin := *witness(), int64(26_164_000)
	return checker.Result{
		Version: 1, Verdict: checker.Invalid, Warnings: []string{"line 812: dropped a torn last line"},
		Properties: []checker.PropertyResult{
			{Property: checker.StaleWrite, Verdict: checker.Invalid, Role: checker.Gate, Checked: 812, Violations: 5, Cause: histories.CausePaused, Witnesses: []checker.Witness{w, w, w, w, w}},
			{Property: checker.LostUpdate, Verdict: checker.Valid, Role: checker.Gate, Checked: 0},
			{Property: checker.Exclusion, Verdict: checker.Valid, Role: checker.Gate, Checked: 11, MarginNS: &margin},
			{Property: "belief", Verdict: checker.Unknown, Role: checker.Report, Checked: 3, Why: "time ran out"},
		},
		Coverage: checker.Coverage{Operations: map[histories.F]int{histories.Acquire: 12, histories.Read: 40, histories.Write: 38}, Refused: 0, Unknown: 1, Workers: 4, Locks: 2, Grants: 12, Expiries: 6,
			Faults: map[histories.F]int{histories.Pause: 6, histories.Resume: 6}, Pauses: 6, Takeovers: 6, Conclusive: 5, ConclusiveLost: 1,
			StaleAttempted: 5, StaleAccepted: 5, LostUpdates: 0, Exposures: 1, ExposureMaxNS: 12_500_000,
			Trials: []checker.Trial{{Conclusive: true, Accepted: 1}, {Conclusive: true, Accepted: 2}, {Conclusive: true, Refused: 1}, {Accepted: 1}}},
	}
}

func TestWriteResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		h    histories.History
		r    checker.Result
	}{
		{"result.golden", histories.History{Source: "run/history.jsonl", Ops: make([]histories.Operation, 91)}, result()},
		// An empty history: nothing was judged, and the text says so.
		{"result-empty.golden", histories.History{Source: "empty.hist"}, checker.Result{Verdict: checker.Unknown, Why: "nothing to judge", Properties: []checker.PropertyResult{
			{Property: checker.StaleWrite, Verdict: checker.Valid, Role: checker.Gate}, {Property: checker.LostUpdate, Verdict: checker.Valid, Role: checker.Gate}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := report.WriteResult(&b, &c.h, c.r, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name, b.String())
		})
	}
}

// A hundred stale writes do not hide the one double grant.
func TestEveryPropertyIsToldOf(t *testing.T) {
	t.Parallel()
	r := result()
	double := *witness()
	double.Title = "two holders at once"
	r.Properties[2] = checker.PropertyResult{Property: checker.Exclusion, Verdict: checker.Invalid, Role: checker.Gate, Checked: 1, Violations: 1, Witnesses: []checker.Witness{double}}
	var b bytes.Buffer
	if err := report.WriteResult(&b, &histories.History{}, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stale-write, violation 1 of 5", "exclusion, violation 1 of 1\ntwo holders at once", "stale-write, violation 2 of 5", "and 3 more violations"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestWriteHTML(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]report.Summary{"demo.html.golden": demo(), "surprise.html.golden": surprise()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := report.WriteHTML(&b, s); err != nil {
				t.Fatal(err)
			}
			// The style sheet has no place in a golden file: only what it dresses.
			page := b.String()
			begin, end := strings.Index(page, "<style>"), strings.Index(page, "</style>")
			golden(t, name, page[:begin+len("<style>")]+page[end:])
		})
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report.WriteJSON(&b, demo()); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.golden", b.String())
}

func TestJudged(t *testing.T) {
	t.Parallel()
	var c report.Cell
	c.Judged(result())
	if len(c.Properties) != len(result().Properties) || c.Properties[0].Property != checker.StaleWrite || c.Properties[0].Violations == 0 {
		t.Errorf("properties %+v", c.Properties)
	}
	c.Properties = nil
	want := report.Cell{Verdict: checker.Invalid, Cause: histories.CausePaused, Trials: 4, Pauses: 6, Conclusive: 5, Violated: 2, StaleAttempted: 5, StaleAccepted: 5, Exposures: 1, ExposureMaxNS: 12_500_000, ConclusiveLost: 1, Violation: witness()}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("cell (-want +got):\n%s", diff)
	}
}

const evil = "\x1b]0;x\x07<script>alert(1)</script>\u202e\nfake: valid"

// hostile puts a text that would do something into every field.
func hostile() report.Summary {
	s := surprise()
	s.Name, s.Outcome, s.Why, s.Started, s.Reproduce, s.Dir = evil, evil, evil, evil, evil, evil
	s.Versions = map[string]string{evil: evil}
	for i := range s.Cells {
		c := &s.Cells[i]
		c.Cell, c.Guard, c.Fault, c.Store, c.Expect, c.Error, c.Why = evil, evil, evil, evil, evil, evil, evil
		c.Verdict, c.Point, c.Cause, c.Dir = checker.Verdict(evil), evil, evil, "javascript:alert(1)//"+evil
		c.Notes = []string{evil}
		if w := c.Violation; w != nil {
			w.Title, w.Cause = evil, evil
			for k := range w.Story {
				w.Story[k].Text, w.Story[k].Mood = evil, evil
			}
		}
	}
	return s
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	var text, page bytes.Buffer
	if err := report.WriteText(&text, hostile(), report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteHTML(&page, hostile()); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\nfake"} {
		if strings.Contains(text.String(), bad) {
			t.Errorf("text contains %q", bad)
		}
		if strings.Contains(page.String(), bad) {
			t.Errorf("page contains %q", bad)
		}
	}
	for _, bad := range []string{"<script", `href="javascript`, `src=`} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("page contains %q", bad)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain text is left alone", "b1 über 10 µs ✓", "b1 über 10 µs ✓"},
		{"an escape sequence loses its escape", "\x1b[31mred", "\ufffd[31mred"},
		{"a line stays one line", "a\r\nb\tc", "a\ufffd\ufffdb c"},
		{"writing does not turn around", "abc\u202edef", "abc\ufffddef"},
		{"C1 controls are controls", "a\u009bb", "a\ufffdb"},
		{"bytes that are no text", "a\xff\xfeb", "a\ufffd\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := report.Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestPower(t *testing.T) {
	t.Parallel()
	// The values are computed elsewhere: 1 - 0.05^(1/n) in percent.
	for n, want := range map[int]float64{0: 100, -3: 100, 1: 95, 10: 25.9, 30: 9.5, 59: 5.0, 64: 4.6, 100: 3.0, 300: 1.0} {
		if got := 100 * report.Power(n); math.Abs(got-want) > 0.06 {
			t.Errorf("Power(%d) = %.2f %%, want %.1f %%", n, got, want)
		}
	}
}

func ExamplePower() {
	fmt.Printf("0 of 64 trials: at most %.1f %%\n", 100*report.Power(64))
	// Output: 0 of 64 trials: at most 4.6 %
}
