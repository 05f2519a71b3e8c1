package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/leasehold-checker/leasehold/checker"
)

// TextOptions say how text for people is laid out.
type TextOptions struct {
	Color bool // escape sequences for colour; whether the terminal wants them is for the caller to know
	Width int  // columns; 0 means 100
}

func (o TextOptions) width() int {
	if o.Width <= 0 {
		return 100
	}
	return max(o.Width, 40)
}

// printer collects text, and keeps escape sequences and widths apart.
type printer struct {
	bytes.Buffer
	o TextOptions
}

// paint colours a text that is laid out already.
func (p *printer) paint(text string, attributes ...color.Attribute) string {
	if !p.o.Color || len(attributes) == 0 || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor()
	return c.Sprint(text)
}

func (p *printer) verdict(v checker.Verdict, text string) string {
	switch v {
	case checker.Invalid:
		return p.paint(text, color.FgRed, color.Bold)
	case checker.Unknown:
		return p.paint(text, color.FgYellow, color.Bold)
	}
	return p.paint(text, color.FgGreen)
}

func (p *printer) line(format string, arguments ...any) {
	fmt.Fprintf(&p.Buffer, format+"\n", arguments...)
}

// wrapped prints a text in lines that fit, the first with a lead of its own.
func (p *printer) wrapped(lead, text string, attributes ...color.Attribute) {
	room := p.o.width() - utf8.RuneCountInString(lead)
	indent := lead
	line, size := "", 0
	flush := func() {
		p.line("%s%s", indent, p.paint(line, attributes...))
		indent = strings.Repeat(" ", utf8.RuneCountInString(lead))
		line, size = "", 0
	}
	for _, word := range strings.Fields(Clean(text)) {
		n := utf8.RuneCountInString(word)
		if size > 0 && size+1+n > room {
			flush()
		}
		if size > 0 {
			line, size = line+" ", size+1
		}
		line, size = line+word, size+n
	}
	flush()
}

// story prints the sentences of a violation under its title.
func (p *printer) story(w *checker.Witness) {
	title := Clean(w.Title)
	if w.Cause != "" {
		title += " (" + Clean(string(w.Cause)) + ")"
	}
	p.wrapped("", title, color.Bold)
	for i, s := range w.Story {
		lead := fmt.Sprintf("%3d. ", i+1)
		switch s.Mood {
		case checker.Right:
			p.wrapped(lead, s.Text, color.FgGreen)
		case checker.Wrong:
			p.wrapped(lead, s.Text, color.FgRed, color.Bold)
		default:
			p.wrapped(lead, s.Text)
		}
	}
}

func (p *printer) flush(w io.Writer) error {
	if _, err := w.Write(p.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
