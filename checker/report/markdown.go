package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// MarkdownLimit is the largest job summary that is written, in bytes. GitHub drops one
// of more than a megabyte as a whole, and others have appended to it before.
const MarkdownLimit = 200_000

// Annotations of one kind beyond the tenth are dropped by GitHub, silently.
const maxAnnotations = 10

// WriteMarkdown writes the summary for a CI job's page: the outcome, the cells, the
// first violation in sentences, and what a clean cell is worth. What does not fit into
// MarkdownLimit is left out, and said: violations and cells that are not as expected
// come first.
func WriteMarkdown(w io.Writer, s Summary) error {
	m := &markdown{}
	m.line("## leasehold: %s", escape(words(s)))
	if s.Why != "" {
		m.line("\n%s", escape(s.Why))
	}
	m.story(firstViolation(s.Cells))
	tail := &markdown{}
	if s.Reproduce != "" {
		tail.line("\nAgain: %s", code(s.Reproduce))
	}
	m.cells(s.Cells, MarkdownLimit-tail.Len()-1000)
	m.power(PowerLines(s), MarkdownLimit-tail.Len()-200)
	if _, err := io.WriteString(w, m.String()+tail.String()); err != nil {
		return fmt.Errorf("write job summary: %w", err)
	}
	return nil
}

type markdown struct{ strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *markdown) story(c *Cell) {
	if c == nil {
		return
	}
	m.line("\n**%s**, in %s:\n", escape(c.Violation.Title), code(c.Cell))
	for i, s := range c.Violation.Story {
		m.line("%d. %s", i+1, escape(cut(s.Text)))
	}
}

func (m *markdown) cells(cells []Cell, room int) {
	if len(cells) == 0 {
		return
	}
	m.line("\n| cell | conclusive trials | stale writes accepted | refused | lost updates | verdict | as expected |")
	m.line("|---|--:|--:|--:|--:|---|---|")
	left := 0
	for _, wanted := range []bool{false, true} { // those that are not as expected first
		for i := range cells {
			c := &cells[i]
			if c.Met != wanted {
				continue
			}
			met := "yes"
			if !c.Met {
				met = "**no**: " + escape(cut(reason(c)))
			}
			row := fmt.Sprintf("| %s | %d | %d | %d | %d | %s | %s |\n", code(cellName(c)), c.Tested(), c.StaleAccepted, c.StaleRefused, c.LostUpdates, escape(string(c.Verdict)), met)
			if m.Len()+len(row) > room {
				left++
				continue
			}
			m.WriteString(row)
		}
	}
	if left > 0 {
		m.line("\n%d more cells are in summary.json and report.html.", left)
	}
}

func (m *markdown) power(lines []string, room int) {
	for i, text := range lines {
		text = "- " + escape(text) + "\n"
		if m.Len()+len(text) > room {
			m.line("- and %d more", len(lines)-i)
			return
		}
		if i == 0 {
			m.line("")
		}
		m.WriteString(text)
	}
}

// WriteAnnotations writes a workflow command of GitHub for each cell that is not as
// expected, violations first, at most ten.
func WriteAnnotations(w io.Writer, s Summary) error {
	n := 0
	for _, violated := range []bool{true, false} {
		for i := range s.Cells {
			c := &s.Cells[i]
			if c.Met || (c.Outcome == "violation") != violated || n == maxAnnotations {
				continue
			}
			n++
			text := reason(c)
			if c.Violation != nil && violated {
				text += ": " + told(c.Violation)
			}
			_, err := fmt.Fprintf(w, "::error title=%s::%s\n", commandProperty("leasehold: "+c.Cell), commandText(plain(text)))
			if err != nil {
				return fmt.Errorf("write annotation: %w", err)
			}
		}
	}
	return nil
}

// The escapes of GitHub's workflow commands.
var (
	commandData = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandKey  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func commandText(text string) string     { return commandData.Replace(text) }
func commandProperty(text string) string { return commandKey.Replace(Clean(text)) }

var special = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "!", `\!`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;",
)

// escape makes a text one line that means nothing but itself: no markup, no mention of
// somebody.
func escape(text string) string { return special.Replace(Clean(text)) }

// code shows a text as it is. A grave accent would end it, a bar the cell of a table.
func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(Clean(text)) + "`"
}

// cut keeps a text of a reasonable length.
func cut(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " ..."
}
