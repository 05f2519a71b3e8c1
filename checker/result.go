package checker

import (
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// ResultVersion is the version of the JSON form of a Result. It grows when a key
// changes its meaning; new keys do not change it.
const ResultVersion = 1

// Result is the judgement of one history. Its JSON form is result.json.
type Result struct {
	Version    int              `json:"version"`
	Verdict    Verdict          `json:"verdict"` // worst of the gate properties; unknown if none had a case to judge
	Why        string           `json:"why,omitempty"`
	Properties []PropertyResult `json:"properties"`
	Coverage   Coverage         `json:"coverage"`
	Warnings   []string         `json:"warnings,omitempty"` // what was dropped on reading
}

// Property returns the result for one property, nil if it was not judged.
func (r *Result) Property(p Property) *PropertyResult {
	for i := range r.Properties {
		if r.Properties[i].Property == p {
			return &r.Properties[i]
		}
	}
	return nil
}

// PropertyResult is the judgement of one property.
type PropertyResult struct {
	Property   Property        `json:"property"`
	Verdict    Verdict         `json:"verdict"`
	Role       Role            `json:"role"`
	Checked    int             `json:"checked"`             // cases that could be judged; 0: not judged, no evidence
	Violations int             `json:"violations"`          // cases found invalid: at least so many
	MarginNS   *int64          `json:"margin_ns,omitempty"` // timed properties: by how much the tightest case was legal; nil: none was timed
	Cause      histories.Cause `json:"cause,omitempty"`
	Why        string          `json:"why,omitempty"` // unknown: what could not be decided
	Witnesses  []Witness       `json:"witnesses,omitempty"`
}

// Witness is a violation that can be followed by hand.
type Witness = witness.Witness

// Sentence is one step of a witness's story.
type Sentence = witness.Sentence

// Mood says what a sentence of a story is about.
type Mood = witness.Mood

// The moods.
const (
	Plain = witness.Plain // what happened
	Right = witness.Right // what was right: the store did as it should
	Wrong = witness.Wrong // the violation itself
)

// Coverage says what a history put to the test. All of it is counted from the
// history.
type Coverage struct {
	Operations map[histories.F]int `json:"operations"` // by workers, answered ok
	Refused    int                 `json:"refused"`    // operations that the resource refused because of their token
	Unknown    int                 `json:"unknown"`    // operations by workers without a definite answer
	Workers    int                 `json:"workers"`
	Locks      int                 `json:"locks"`
	Grants     int                 `json:"grants"`
	Expiries   int                 `json:"expiries"` // leases that the store was seen to end because their ttl ran out
	Faults     map[histories.F]int `json:"faults"`   // by the nemesis, confirmed

	Pauses         int `json:"pauses"`          // confirmed by the kernel
	Takeovers      int `json:"takeovers"`       // pauses during which another worker was granted the lock
	Conclusive     int `json:"conclusive"`      // trials that put stale-write to the test
	ConclusiveLost int `json:"conclusive_lost"` // trials that put lost-update to the test
	StaleAttempted int `json:"stale_attempted"` // writes of an older grant that reached the resource after a newer one had touched it
	StaleAccepted  int `json:"stale_accepted"`
	StaleRefused   int `json:"stale_refused"`
	LostUpdates    int `json:"lost_updates"` // acknowledged writes that overwrote another worker's unseen
	Exposures      int `json:"exposures"`    // writes of an older grant after its successor was granted, before that touched the resource

	ExposureMaxNS int64   `json:"exposure_max_ns,omitempty"`
	Trials        []Trial `json:"trials,omitempty"`
}

// Trial is one pause episode on one lock: the stopped worker, what happened
// meanwhile, and what it did when it went on. A pause of a worker that stands still
// already makes no trial of its own.
type Trial struct {
	Lock      string          `json:"lock"`
	Resource  string          `json:"resource,omitempty"`
	Process   string          `json:"process"` // who was stopped
	Point     histories.Point `json:"point,omitempty"`
	Grant     string          `json:"grant,omitempty"`     // what it held, or was being granted
	Successor string          `json:"successor,omitempty"` // the first grant of another worker meanwhile

	Pause  int `json:"pause"`  // place in History.Ops
	Resume int `json:"resume"` // place in History.Ops; -1 if it was never continued
	Write  int `json:"write"`  // the first write of the old grant that the successor's touch made stale; -1 if none

	StoppedNS   int64 `json:"stopped_ns"`            // when the kernel confirmed the stop
	ContinuedNS int64 `json:"continued_ns"`          // when it was told to go on, or was killed; end of the history if never
	ExposureNS  int64 `json:"exposure_ns,omitempty"` // longest time from the successor's grant to a write of the old grant before its touch

	Takeover       bool   `json:"takeover"`
	Conclusive     bool   `json:"conclusive"`
	ConclusiveLost bool   `json:"conclusive_lost"`
	Attempted      int    `json:"stale_attempted"`
	Accepted       int    `json:"stale_accepted"`
	Refused        int    `json:"stale_refused"`
	LostUpdates    int    `json:"lost_updates"`  // writes of the old grant that overwrote a newer one unseen, or were overwritten so
	Why            string `json:"why,omitempty"` // not conclusive: what was missing
}
