package timeline

import (
	"bytes"
	_ "embed" // the page, its style and its script
	"fmt"
	"html/template"
	"io"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

//go:embed page.tmpl
var pageSource string

//go:embed timeline.css
var pageCSS string

// The script is kept in pieces of one idea each and put into one function, so
// that the page's policy can name it by one hash.
var (
	//go:embed scale.js
	scaleJS string
	//go:embed labels.js
	labelsJS string
	//go:embed picture.js
	pictureJS string
	//go:embed table.js
	tableJS string
	//go:embed timeline.js
	timelineJS string
)

// Options say what a page tells beside the history and its judgement.
type Options struct {
	Title     string // of the browser's tab; if empty, the cell or the name of the file
	Reproduce string // the command that repeats the run, to copy
	Note      string // one line about the place of this history in its campaign, such as "22 of 24 trials were conclusive"
	Links     []Link // to what lies beside the page
}

// Link leads to another file of the run directory. Href is relative; anything
// that would run a script is made harmless.
type Link struct {
	Text string
	Href string
}

// Write writes the page of a judged history to w. It builds the page in memory
// first: an error of the page itself leaves w untouched, any other error is w's.
func Write(w io.Writer, h *histories.History, r checker.Result, o Options) error {
	page, err := template.New("page").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	script := script()
	view := Build(h, r)
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Title":     title(h, o),
		"Policy":    show.Policy(script),
		"Style":     template.CSS(show.BaseCSS + pageCSS),
		"Script":    template.JS(script),
		"View":      view,
		"Data":      map[string]any{"picture": view.Picture, "stories": view.Stories},
		"Reproduce": show.Cut(o.Reproduce, 4*maxText),
		"Note":      show.Cut(o.Note, 2*maxText),
		"Links":     cleanLinks(o.Links),
		"Shown":     len(view.Picture.Ops),
	})
	if err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func cleanLinks(links []Link) []Link {
	clean := make([]Link, len(links))
	for i, l := range links {
		clean[i] = Link{Text: text(l.Text), Href: show.Cut(l.Href, 4*maxText)}
	}
	return clean
}

func script() string {
	return "(() => {\n\"use strict\";\n" + scaleJS + labelsJS + pictureJS + tableJS + timelineJS + "})();\n"
}

func title(h *histories.History, o Options) string {
	for _, s := range []string{o.Title, h.Header.Cell, h.Source} {
		if s != "" {
			return show.Cut(s, maxText)
		}
	}
	return "leasehold history"
}
