package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// SummaryVersion is the version of the JSON form of a Summary. It grows when a
// key changes its meaning; new keys do not change it.
const SummaryVersion = 1

// Summary is what came of a campaign. Its JSON form is summary.json.
type Summary struct {
	Version    int               `json:"version"`
	Name       string            `json:"name"`
	Seed       int64             `json:"seed"`
	Verdict    checker.Verdict   `json:"verdict"` // worst of the cells
	ExitCode   int               `json:"exit_code"`
	Outcome    string            `json:"outcome,omitempty"` // the exit code in words; if empty, the reports have their own
	Why        string            `json:"why,omitempty"`     // what decided the exit code, where the cells do not say it
	Started    string            `json:"started,omitempty"` // UTC, RFC 3339
	DurationMS int64             `json:"duration_ms,omitempty"`
	StallMS    float64           `json:"stall_ms,omitempty"` // the longest that the host kept a process waiting for its turn
	Cells      []Cell            `json:"cells"`
	Versions   map[string]string `json:"versions"` // what -> version
	Reproduce  string            `json:"reproduce"`
	Dir        string            `json:"dir,omitempty"` // the run directory, as the user can open it
}

// Cell is what came of one cell.
type Cell struct {
	Cell     string           `json:"cell"` // lock/resource/guard/fence/fault
	Lock     string           `json:"lock"`
	Resource string           `json:"resource"`
	Guard    string           `json:"guard"`
	Fence    histories.Fence  `json:"fence"`
	Fault    string           `json:"fault"`
	Point    histories.Point  `json:"point,omitempty"`
	Store    string           `json:"store,omitempty"`    // the lock store and its version: "etcd 3.7.3"
	Expect   string           `json:"expect"`             // clean, violation or any
	Question checker.Property `json:"question,omitempty"` // what its trials put to the test; if empty, stale-write
	Control  bool             `json:"control"`            // shows that its fenced neighbour was put to the test

	Verdict checker.Verdict `json:"verdict"`
	Met     bool            `json:"met"` // the expectation and the floors
	Outcome string          `json:"outcome,omitempty"`
	Why     string          `json:"why,omitempty"` // not met or undecided: what was missing
	Cause   histories.Cause `json:"cause,omitempty"`
	Error   string          `json:"error,omitempty"` // it could not be run to its end

	Trials         int   `json:"trials"`
	Pauses         int   `json:"pauses"`
	Conclusive     int   `json:"conclusive"`
	ConclusiveLost int   `json:"conclusive_lost"`
	Violated       int   `json:"violated"` // trials that put the question to the test and answered it badly
	StaleAttempted int   `json:"stale_attempted"`
	StaleAccepted  int   `json:"stale_accepted"`
	StaleRefused   int   `json:"stale_refused"`
	LostUpdates    int   `json:"lost_updates"`
	Exposures      int   `json:"exposures"`
	ExposureMaxNS  int64 `json:"exposure_max_ns,omitempty"`
	Floor          Floor `json:"floor"`

	Properties []CellProperty `json:"properties,omitempty"`

	Notes      []string         `json:"notes,omitempty"`   // what a reader should know: a worker that died
	Started    string           `json:"started,omitempty"` // UTC, RFC 3339
	DurationMS int64            `json:"duration_ms,omitempty"`
	Dir        string           `json:"dir"`                 // relative to the run directory
	Violation  *checker.Witness `json:"violation,omitempty"` // the first one, for people; result.json has them all
}

// CellProperty is what the judgement of a cell's history says of one property.
// result.json says more.
type CellProperty struct {
	Property   checker.Property `json:"property"`
	Verdict    checker.Verdict  `json:"verdict"`
	Role       checker.Role     `json:"role"`
	Checked    int              `json:"checked"`
	Violations int              `json:"violations"`
	Unexpected bool             `json:"unexpected,omitempty"` // it fails the cell
	Cause      histories.Cause  `json:"cause,omitempty"`
	Why        string           `json:"why,omitempty"`
}

// properties copies what a result says of each property.
func properties(r *checker.Result) []CellProperty {
	list := make([]CellProperty, 0, len(r.Properties))
	for i := range r.Properties {
		p := &r.Properties[i]
		list = append(list, CellProperty{Property: p.Property, Verdict: p.Verdict, Role: p.Role, Checked: p.Checked, Violations: p.Violations, Cause: p.Cause, Why: p.Why})
	}
	return list
}

// Floor is the least that a cell must have done to count.
type Floor struct {
	Conclusive    int                 `json:"conclusive"`
	StaleAttempts int                 `json:"stale_attempts,omitempty"`
	Operations    map[histories.F]int `json:"operations,omitempty"`
}

// Judged copies into the cell what the judgement of its history says: verdict,
// cause, counts, and the first violation.
func (c *Cell) Judged(r checker.Result) {
	c.Verdict, c.Why = r.Verdict, r.Why
	c.Properties = properties(&r)
	v := r.Coverage
	c.Trials, c.Pauses, c.Conclusive = len(v.Trials), v.Pauses, v.Conclusive
	c.StaleAttempted, c.StaleAccepted, c.StaleRefused = v.StaleAttempted, v.StaleAccepted, v.StaleRefused
	c.LostUpdates, c.Exposures, c.ExposureMaxNS = v.LostUpdates, v.Exposures, v.ExposureMaxNS
	c.ConclusiveLost = v.ConclusiveLost
	c.Violated = 0
	for _, t := range v.Trials {
		tested, bad := t.Conclusive, t.Accepted > 0
		if c.Question == checker.LostUpdate {
			tested, bad = t.ConclusiveLost, t.LostUpdates > 0
		}
		if tested && bad {
			c.Violated++
		}
	}
	c.Cause, c.Violation = "", nil
	for i := range r.Properties {
		p := &r.Properties[i]
		if p.Verdict != checker.Invalid || p.Role != checker.Gate {
			continue
		}
		if c.Cause == "" {
			c.Cause = p.Cause
		}
		if c.Violation == nil && len(p.Witnesses) > 0 {
			w := p.Witnesses[0]
			c.Violation = &w
		}
	}
}

// Tested is the number of trials that put the cell's question to the test.
func (c *Cell) Tested() int {
	if c.Question == checker.LostUpdate {
		return c.ConclusiveLost
	}
	return c.Conclusive
}

// WriteJSON writes the summary as indented JSON, which is summary.json.
func WriteJSON(w io.Writer, s Summary) error {
	s.Version = SummaryVersion
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// Power is the 95 % upper bound on the probability of a violation in one trial,
// after n conclusive trials without any: 1 - 0.05^(1/n), about 3/n. It is 1 for
// n < 1: no trial, no knowledge. The trials are taken to be alike and
// independent, so the bound speaks of this choreography only.
func Power(n int) float64 {
	if n < 1 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// Clean makes a text from outside safe to print on one line of a terminal:
// control characters (escape sequences, line breaks), invalid UTF-8 and marks
// that turn the direction of writing become U+FFFD, a tab becomes a space.
func Clean(s string) string { return show.Clean(s) }
