// Package witness makes a violation something that a person can follow: the few
// operations that are illegal by themselves, a story of five to seven sentences,
// and the same operations as a small history that can be judged again.
package witness

import "github.com/leasehold-checker/leasehold/histories"

// Witness is a violation that can be followed by hand: the few operations that
// are illegal by themselves, and their story.
type Witness struct {
	Lock      string          `json:"lock,omitempty"`
	Resource  string          `json:"resource"`
	Cause     histories.Cause `json:"cause,omitempty"`
	Title     string          `json:"title"` // one line: what went wrong
	Story     []Sentence      `json:"story"` // in the order of events
	Core      []int           `json:"core"`  // operations that are illegal by themselves: places in History.Ops
	Ops       []int           `json:"ops"`   // the core, and everything else that the story names
	Stale     int             `json:"stale"` // the operation to point at: place in History.Ops
	BeginNS   int64           `json:"begin_ns"`
	EndNS     int64           `json:"end_ns"`
	Histories string          `json:"hist,omitempty"` // the operations in the text notation
}

// Mood says what a sentence of a story is about, for colour and shape.
type Mood string

// The moods.
const (
	Plain Mood = ""      // what happened
	Right Mood = "right" // what was right: the store did as it should
	Wrong Mood = "wrong" // the violation itself
)

// Sentence is one step of a story.
type Sentence struct {
	Text   string `json:"text"`
	Mood   Mood   `json:"mood,omitempty"`
	Op     int    `json:"op"`      // the operation that it tells of: place in History.Ops; -1 if none
	TimeNS int64  `json:"time_ns"` // when, for a mark in the picture
}
