package report

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
)

//go:embed report.tmpl
var reportSource string

//go:embed report.css
var reportCSS string

// WriteHTML writes report.html: the outcome in words, and all cells with links to
// their pictures. The page has no script and needs no network.
func WriteHTML(w io.Writer, s Summary) error {
	page, err := template.New("report").Parse(reportSource)
	if err != nil {
		return fmt.Errorf("parse report: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, newReportView(s)); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// reportView is what the page shows, cleaned.
type reportView struct {
	Policy     string
	Style      template.CSS
	Word       string
	Class      string
	Text       string
	Why        string
	Facts      []string
	Reproduce  string
	Cells      []cellView
	Power      []string
	Violations []violationView
}

type cellView struct {
	Cell
	Name    string
	Link    template.URL
	History template.URL
	Result  template.URL
	Judged  string // a class: valid, invalid or unknown
	As      string
	Note    string
}

type violationView struct {
	Cell  string
	Link  template.URL
	Title string
	Cause string
	Story []checker.Sentence
}

func newReportView(s Summary) reportView {
	v := reportView{Policy: show.Policy(""), Style: template.CSS(show.BaseCSS + reportCSS), Text: words(s), Why: Clean(s.Why),
		Reproduce: Clean(s.Reproduce), Power: PowerLines(s), Facts: []string{"seed " + fmt.Sprint(s.Seed)}}
	v.Word, v.Class = bannerOf(s.ExitCode)
	if s.Name != "" {
		v.Facts = append([]string{show.Cut(s.Name, 200)}, v.Facts...)
	}
	if s.Started != "" {
		v.Facts = append(v.Facts, Clean(s.Started))
	}
	if s.DurationMS > 0 {
		v.Facts = append(v.Facts, "took "+show.Seconds(s.DurationMS*1e6))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		v.Facts = append(v.Facts, show.Cut(name, 60)+" "+show.Cut(s.Versions[name], 60))
	}
	for i := range s.Cells {
		c := newCellView(s.Cells[i])
		v.Cells = append(v.Cells, c)
		if w := c.Violation; w != nil {
			v.Violations = append(v.Violations, violationView{Cell: c.Name, Link: c.Link, Title: Clean(w.Title), Cause: Clean(string(w.Cause)), Story: cleanStory(w.Story)})
		}
	}
	return v
}

func newCellView(c Cell) cellView {
	v := cellView{Cell: c, Name: cellName(&c), Judged: "unknown", As: asExpected(&c), Note: reason(&c)}
	if c.Verdict == checker.Valid || c.Verdict == checker.Invalid {
		v.Judged = string(c.Verdict)
	}
	v.Notes = nil
	for _, note := range c.Notes {
		v.Notes = append(v.Notes, Clean(note))
	}
	if c.Dir != "" {
		v.Link, v.History, v.Result = beside(c.Dir, "timeline.html"), beside(c.Dir, "history.jsonl"), beside(c.Dir, "result.json")
	}
	return v
}

// beside is the address of a file of a cell. "./" and the escaping keep whatever
// stands in dir from being read as a scheme or a host.
func beside(dir, file string) template.URL {
	return template.URL("./" + (&url.URL{Path: dir}).EscapedPath() + "/" + file)
}

func cleanStory(story []checker.Sentence) []checker.Sentence {
	clean := make([]checker.Sentence, len(story))
	for i, s := range story {
		clean[i] = s
		clean[i].Text = Clean(s.Text)
	}
	return clean
}

func bannerOf(exit int) (word, class string) {
	switch exit {
	case 0:
		return "AS EXPECTED", "clean"
	case 1:
		return "VIOLATION", "violation"
	case 2:
		return "INCONCLUSIVE", "inconclusive"
	}
	return "NOT FINISHED", "inconclusive"
}
