package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/leasehold-checker/leasehold/checker"
)

// WriteJUnit writes the summary as JUnit XML: a suite a cell, a case a property, and
// one case for what the cell had to show as a whole. Names say nothing that changes
// from run to run, so that CI can follow a case; the seed is a property of the suite.
//
// A violation that was not expected is a failure; what stayed undecided, missed a
// floor or could not run is an error; a property without a case to judge is skipped.
func WriteJUnit(w io.Writer, s Summary) error {
	suites := junit.Testsuites{Name: "leasehold " + plain(s.Name), Time: seconds(s.DurationMS)}
	for i := range s.Cells {
		suites.AddSuite(suiteOf(&s, &s.Cells[i], i))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	if err := suites.WriteXML(w); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	return nil
}

func suiteOf(s *Summary, c *Cell, id int) junit.Testsuite {
	suite := junit.Testsuite{ID: id, Name: plain(c.Cell), Package: "leasehold", Time: seconds(c.DurationMS)}
	if began, err := time.Parse(time.RFC3339, c.Started); err == nil {
		suite.SetTimestamp(began)
	}
	suite.AddProperty("seed", strconv.FormatInt(s.Seed, 10))
	suite.AddProperty("expect", plain(c.Expect))
	suite.AddProperty("store", plain(c.Store))
	suite.AddProperty("conclusive_trials", strconv.Itoa(c.Tested()))
	suite.AddProperty("reproduce", plain(s.Reproduce))
	for i := range c.Properties {
		suite.AddTestcase(caseOf(c, &c.Properties[i]))
	}
	suite.AddTestcase(whole(c))
	return suite
}

func caseOf(c *Cell, p *CellProperty) junit.Testcase {
	t := junit.Testcase{Classname: plain(c.Cell), Name: plain(string(p.Property))}
	switch {
	case p.Unexpected:
		t.Failure = &junit.Result{Type: "violation", Message: fmt.Sprintf("%d of %d cases violate %s", p.Violations, p.Checked, p.Property)}
		if c.Violation != nil {
			t.Failure.Data = plain(told(c.Violation))
		}
	case p.Checked == 0 && p.Verdict == checker.Valid:
		t.Skipped = &junit.Result{Message: "no case to judge"}
	case p.Verdict == checker.Unknown && p.Role == checker.Gate:
		t.Error = &junit.Result{Type: "unknown", Message: plain(p.Why)}
	default:
		t.SystemOut = &junit.Output{Data: plain(fmt.Sprintf("%s: %d cases judged, %d violations", p.Verdict, p.Checked, p.Violations))}
	}
	return t
}

// whole is the case of the cell's expectation and floors.
func whole(c *Cell) junit.Testcase {
	t := junit.Testcase{Classname: plain(c.Cell), Name: "as-expected", Time: seconds(c.DurationMS)}
	switch {
	case c.Met:
		t.SystemOut = &junit.Output{Data: plain(fmt.Sprintf("expected: %s; %d conclusive trials, %d stale writes accepted, %d refused", c.Expect, c.Tested(), c.StaleAccepted, c.StaleRefused))}
	case c.Outcome == "violation":
		t.Failure = &junit.Result{Type: "violation", Message: plain(reason(c))}
	default:
		t.Error = &junit.Result{Type: plain(c.Outcome), Message: plain(reason(c))}
	}
	return t
}

func told(w *checker.Witness) string {
	var b strings.Builder
	b.WriteString(w.Title)
	for i, s := range w.Story {
		fmt.Fprintf(&b, "\n%d. %s", i+1, s.Text)
	}
	return b.String()
}

func seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64) }

// plain makes a text fit for XML, in which most control characters can't even be
// escaped. A CDATA section needs nothing more: the encoder splits what would end it.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(Clean(strings.TrimSuffix(line, "\n")))
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
