package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/fatih/color"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// WriteText writes what a campaign ends with on a terminal: the table of cells,
// the first violation in sentences, what a clean cell is worth, and where the
// report is.
func WriteText(w io.Writer, s Summary, o TextOptions) error {
	p := &printer{o: o}
	writeCells(p, s.Cells)
	writeReasons(p, s.Cells)
	if c := firstViolation(s.Cells); c != nil {
		p.line("")
		p.line("%s", p.paint("First violation, in "+Clean(c.Cell)+":", color.Faint))
		p.story(c.Violation)
	}
	for i, text := range PowerLines(s) {
		if i == 0 {
			p.line("")
		}
		p.wrapped("", text)
	}
	p.line("")
	tone := colorOf(s.ExitCode)
	if s.Outcome != "" && s.ExitCode == 0 {
		tone = color.FgYellow // it passes, and is no success
	}
	p.wrapped("", words(s)+".", tone, color.Bold)
	if s.Why != "" {
		p.wrapped("", s.Why)
	}
	if s.Reproduce != "" {
		p.line("again:  %s", Clean(s.Reproduce))
	}
	if s.Dir != "" {
		p.line("report: %s", Clean(filepath.Join(s.Dir, "report.html")))
	}
	return p.flush(w)
}

func writeCells(p *printer, cells []Cell) {
	t := table{
		head:  []string{"cell", "pauses", "conclusive", "stale attempted", "accepted", "refused", "lost updates", "verdict", "as expected"},
		right: []bool{false, true, true, true, true, true, true, false, false},
	}
	for i := range cells {
		c := &cells[i]
		t.rows = append(t.rows, tableRow{
			cells: []string{cellName(c), strconv.Itoa(c.Pauses), strconv.Itoa(c.Tested()), strconv.Itoa(c.StaleAttempted),
				strconv.Itoa(c.StaleAccepted), strconv.Itoa(c.StaleRefused), strconv.Itoa(c.LostUpdates), Clean(string(c.Verdict)), asExpected(c)},
			paint: func(column int, text string) string {
				switch {
				case column == 7:
					return p.verdict(c.Verdict, text)
				case column == 8 && !c.Met:
					return p.paint(text, color.FgRed, color.Bold)
				}
				return text
			},
		})
	}
	t.print(p)
}

func cellName(c *Cell) string {
	name := Clean(c.Cell)
	if c.Control {
		name += " (control)"
	}
	return name
}

func asExpected(c *Cell) string {
	if c.Met {
		return "yes"
	}
	return "NO"
}

// writeReasons says below the table why a cell did not count, and what else a
// reader should know of it.
func writeReasons(p *printer, cells []Cell) {
	for i := range cells {
		if why := reason(&cells[i]); why != "" {
			p.wrapped("! ", Clean(cells[i].Cell)+": "+why, color.FgYellow)
		}
		for _, note := range cells[i].Notes {
			p.wrapped("- ", Clean(cells[i].Cell)+": "+note)
		}
	}
}

// reason says what is wrong with a cell, "" if nothing is.
func reason(c *Cell) string {
	switch {
	case c.Error != "":
		return Clean(c.Error)
	case c.Why != "":
		return Clean(c.Why)
	case c.Tested() < c.Floor.Conclusive:
		return fmt.Sprintf("%s, and %d are the least that count", show.Count(c.Tested(), "conclusive trial"), c.Floor.Conclusive)
	case !c.Met:
		return "expected " + Clean(c.Expect) + ", found " + Clean(string(c.Verdict))
	}
	return ""
}

// firstViolation prefers one that was not expected.
func firstViolation(cells []Cell) *Cell {
	var first *Cell
	for i := range cells {
		if cells[i].Violation == nil {
			continue
		}
		if !cells[i].Met {
			return &cells[i]
		}
		if first == nil {
			first = &cells[i]
		}
	}
	return first
}

// PowerLines says of every clean fenced cell what its green result is worth: how
// many trials, which rate of violations they leave possible, and what the cell
// without a fence did in the same choreography.
func PowerLines(s Summary) []string {
	var lines []string
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Verdict != checker.Valid || c.Fence == histories.FenceOff || c.Fence == "" {
			continue
		}
		line := "no conclusive trial: it shows nothing"
		if c.Tested() > 0 {
			line = fmt.Sprintf("0 of %s; 95 %% upper bound %.1f %% for this choreography (%s)", show.Count(c.Tested(), "conclusive trial"), 100*Power(c.Tested()), choreography(c))
		}
		if control := controlOf(s.Cells, c); control != nil {
			line += fmt.Sprintf("; the unfenced control violated %d of %d", control.Violated, control.Tested())
		} else {
			line += "; there was no unfenced control: no power was shown"
		}
		lines = append(lines, Clean(c.Cell)+": "+line)
	}
	return lines
}

func choreography(c *Cell) string {
	text := Clean(c.Fault)
	if c.Point != "" {
		text = "point " + Clean(string(c.Point))
	}
	text += ", guard " + Clean(c.Guard)
	if c.Store != "" {
		text += ", " + Clean(c.Store)
	}
	return text
}

// controlOf finds the cell that differs from c in nothing but the fence.
func controlOf(cells []Cell, c *Cell) *Cell {
	for i := range cells {
		o := &cells[i]
		if o.Fence == histories.FenceOff && o.Lock == c.Lock && o.Resource == c.Resource && o.Guard == c.Guard && o.Fault == c.Fault && o.Point == c.Point {
			return o
		}
	}
	return nil
}

// words says in one line what the exit code means.
func words(s Summary) string {
	if s.Outcome != "" {
		return Clean(s.Outcome)
	}
	switch s.ExitCode {
	case 0:
		return "Every cell is as expected"
	case 1:
		return "A violation where none was expected"
	case 2:
		return "Inconclusive: not everything that had to be shown was shown"
	case 3:
		return "The environment failed: nothing can be said about the lock"
	case 70:
		return "Internal error: the judgement can't be relied on"
	case 130, 143:
		return "Interrupted: these are partial results"
	}
	return fmt.Sprintf("Ended with exit code %d", s.ExitCode)
}

func colorOf(exit int) color.Attribute {
	switch exit {
	case 0:
		return color.FgGreen
	case 2, 130, 143:
		return color.FgYellow
	}
	return color.FgRed
}
