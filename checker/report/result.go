package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fatih/color"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// maxStories is how many violations a judged file is told with.
const maxStories = 3

// WriteResult writes the judgement of one history for people: its verdict, a
// line for each property, what the history put to the test, and up to three
// violations in sentences.
func WriteResult(w io.Writer, h *histories.History, r checker.Result, o TextOptions) error {
	p := &printer{o: o}
	name := Clean(h.Source)
	if name == "" {
		name = "history"
	}
	why := ""
	if r.Why != "" {
		why = " (" + Clean(r.Why) + ")"
	}
	p.line("%s: %s%s", name, p.verdict(r.Verdict, Clean(string(r.Verdict))), why)
	for _, warning := range r.Warnings {
		p.wrapped("! ", warning, color.FgYellow)
	}
	writeProperties(p, r.Properties)
	writeCoverage(p, h, r.Coverage)
	writeWitnesses(p, &r)
	return p.flush(w)
}

func writeProperties(p *printer, properties []checker.PropertyResult) {
	t := table{
		head:  []string{"property", "verdict", "checked", "violations", "note"},
		right: []bool{false, false, true, true, false},
	}
	for i := range properties {
		one := &properties[i]
		verdict := Clean(string(one.Verdict))
		// Nothing to judge is no evidence, whatever the verdict is called.
		if one.Checked == 0 && one.Verdict != checker.Invalid {
			verdict = "not judged"
		}
		t.rows = append(t.rows, tableRow{
			cells: []string{Clean(string(one.Property)), verdict, strconv.Itoa(one.Checked), strconv.Itoa(one.Violations), note(one)},
			paint: func(column int, text string) string {
				switch {
				case column == 1 && verdict == "not judged":
					return p.paint(text, color.Faint)
				case column == 1:
					return p.verdict(one.Verdict, text)
				}
				return text
			},
		})
	}
	if len(t.rows) > 0 {
		p.line("")
		t.print(p)
	}
}

func note(one *checker.PropertyResult) string {
	var parts []string
	if one.MarginNS != nil {
		parts = append(parts, fmt.Sprintf("smallest margin %.3f ms", float64(*one.MarginNS)/1e6))
	}
	if one.Cause != "" {
		parts = append(parts, "cause: "+Clean(string(one.Cause)))
	}
	if one.Why != "" {
		parts = append(parts, Clean(one.Why))
	}
	if one.Role == checker.Report {
		parts = append(parts, "decides nothing")
	}
	return strings.Join(parts, "; ")
}

func writeCoverage(p *printer, h *histories.History, c checker.Coverage) {
	p.line("")
	p.wrapped("history  ", fmt.Sprintf("%s by %s on %s: %s; %d refused by the fence, %d without a definite answer",
		show.Count(len(h.Ops), "operation"), show.Count(c.Workers, "worker"), show.Count(c.Locks, "lock"), counted(c.Operations), c.Refused, c.Unknown))
	p.wrapped("leases   ", fmt.Sprintf("%s, %d seen to run out", show.Count(c.Grants, "grant"), c.Expiries))
	p.wrapped("faults   ", fmt.Sprintf("%s confirmed by the kernel, %d with a takeover; all faults: %s", show.Count(c.Pauses, "pause"), c.Takeovers, counted(c.Faults)))
	p.wrapped("trials   ", fmt.Sprintf("%d conclusive for stale-write, %d for lost-update", c.Conclusive, c.ConclusiveLost))
	p.wrapped("stale    ", fmt.Sprintf("%d attempted, %d accepted, %d refused; %s; %s", c.StaleAttempted, c.StaleAccepted, c.StaleRefused,
		show.Count(c.LostUpdates, "lost update"), exposures(c)))
}

func exposures(c checker.Coverage) string {
	text := show.Count(c.Exposures, "exposure")
	if c.ExposureMaxNS > 0 {
		text += fmt.Sprintf(" (longest %.1f ms)", float64(c.ExposureMaxNS)/1e6)
	}
	return text
}

// counted lists numbers by name: "acquire 4, read 12".
func counted(m map[histories.F]int) string {
	if len(m) == 0 {
		return "none"
	}
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", Clean(string(f)), m[f]))
	}
	return strings.Join(parts, ", ")
}

// writeWitnesses tells the first ones in full.
func writeWitnesses(p *printer, r *checker.Result) {
	list := Violations("", r)
	for i := range list[:min(len(list), maxStories)] {
		p.line("")
		p.line("%s", p.paint(list[i].heading(), color.Faint))
		p.story(list[i].Witness)
	}
	if left := len(list) - maxStories; left > 0 {
		p.line("")
		p.line("and %s: leasehold explain tells each.", show.Count(left, "more violation"))
	}
}
