package timeline

import (
	"strings"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// Limits of one page. The whole history stays in history.jsonl.
const (
	MaxOps     = 10_000  // operations embedded in a page
	MaxStories = 50      // violations told in a page
	maxBytes   = 3 << 20 // JSON of the embedded operations
	maxSpans   = 4_000   // leases, and pauses, embedded in a page
	maxText    = 240     // runes of a value, an error or a name
	maxLabel   = 22      // runes of a value in a label
)

// View is everything that the page shows, as plain data.
type View struct {
	Banner  Banner
	Counts  []Count
	Stories []Story
	Picture Picture
}

// Banner is the verdict in words.
type Banner struct {
	Word  string // VIOLATION, CLEAN or INCONCLUSIVE
	Class string // violation, clean or inconclusive
	Text  string
	Facts []string // cell, seed, versions: what can be said of the run
}

// Count is one number of the coverage.
type Count struct {
	Name string
	N    int
	Bad  bool
}

// Picture is what the script draws. Times are nanoseconds since the cell began.
type Picture struct {
	Begin  int64   `json:"begin"`
	End    int64   `json:"end"`
	Total  int     `json:"total"` // operations of the history
	Locks  []Lock  `json:"locks"`
	Ops    []Op    `json:"ops"`
	Leases []Lease `json:"leases"`
	Pauses []Pause `json:"pauses"`
	Focus  Focus   `json:"focus"` // what is in view first
}

// Lock is one lock, with those who use it: the lanes of its picture.
type Lock struct {
	Name      string   `json:"name"`
	Workers   []string `json:"workers"`
	Resources []string `json:"resources"`
}

// Focus is a part of the picture.
type Focus struct {
	Lock  string `json:"lock"`
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`
}

// Build makes the view of a judged history. The result's witnesses and trials
// name operations by their place in h.Ops; a place outside is left out.
func Build(h *histories.History, r checker.Result) View {
	x := newIndex(h)
	stories := buildStories(x, r)
	focus := firstFocus(x, r, stories)
	ops := buildOps(x, r, chooseOps(x, stories, focus))
	p := Picture{Total: len(h.Ops), Ops: ops, Focus: focus, End: x.end, Locks: x.locks}
	p.Leases = nearest(buildLeases(x), focus, Lease.span)
	p.Pauses = nearest(buildPauses(x), focus, Pause.span)
	return View{Banner: buildBanner(h, r), Counts: buildCounts(r.Coverage), Stories: stories, Picture: p}
}

func buildBanner(h *histories.History, r checker.Result) Banner {
	b := Banner{Facts: buildFacts(h)}
	switch r.Verdict {
	case checker.Invalid:
		b.Word, b.Class, b.Text = "VIOLATION", "violation", violations(r)
	case checker.Valid:
		b.Word, b.Class, b.Text = "CLEAN", "clean", "no stale write was accepted and no update was lost in "+show.Count(r.Coverage.Conclusive, "conclusive trial")
		// A green page without a trial behind it would be believed too easily.
		if r.Coverage.Conclusive == 0 {
			b.Class, b.Text = "inconclusive", "nothing illegal happened, but no trial put it to the test"
		}
	default:
		b.Word, b.Class, b.Text = "INCONCLUSIVE", "inconclusive", "the history does not decide it"
		if r.Why != "" {
			b.Text = show.Cut(r.Why, maxText)
		}
	}
	return b
}

// violations says what went wrong, one phrase for each property.
func violations(r checker.Result) string {
	var phrases []string
	for _, p := range r.Properties {
		switch {
		case p.Verdict != checker.Invalid || p.Role == checker.Report:
		case p.Property == checker.StaleWrite:
			phrases = append(phrases, "a stale write was accepted")
		case p.Property == checker.LostUpdate:
			phrases = append(phrases, "an update was lost")
		case p.Property == checker.Exclusion:
			phrases = append(phrases, "the lock was promised to two workers at once")
		case p.Property == checker.TokenOrder:
			phrases = append(phrases, "the tokens do not grow")
		default:
			phrases = append(phrases, show.Cut(string(p.Property), 60)+" does not hold")
		}
	}
	if len(phrases) == 0 {
		return "a property does not hold"
	}
	return strings.Join(phrases, ", and ")
}

func buildCounts(c checker.Coverage) []Count {
	counts := []Count{
		{"pauses", c.Pauses, false},
		{"takeovers", c.Takeovers, false},
		{"conclusive trials", c.Conclusive, false},
		{"stale attempted", c.StaleAttempted, false},
		{"stale accepted", c.StaleAccepted, c.StaleAccepted > 0},
		{"stale refused", c.StaleRefused, false},
		{"lost updates", c.LostUpdates, c.LostUpdates > 0},
		{"exposures", c.Exposures, false},
		{"unknown answers", c.Unknown, false},
	}
	for i := range counts {
		if counts[i].N == 1 {
			counts[i].Name = strings.TrimSuffix(counts[i].Name, "s")
		}
	}
	return counts
}
