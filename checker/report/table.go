package report

import (
	"strings"
	"unicode/utf8"

	"github.com/fatih/color"
)

// table is rows of cleaned text. Columns after the first with right set are
// numbers.
type table struct {
	head  []string
	right []bool
	rows  []tableRow
}

type tableRow struct {
	cells []string
	paint func(column int, text string) string
}

// print lays the table out. If it would be too wide, the first column stands on
// a line of its own, above the others.
func (t *table) print(p *printer) {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, r := range t.rows {
		for i, c := range r.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	total := 0
	for _, w := range widths {
		total += w + 2
	}
	stacked := total-2 > p.o.width()
	t.line(p, widths, stacked, t.head, func(_ int, text string) string { return p.paint(text, color.Faint) })
	for _, r := range t.rows {
		t.line(p, widths, stacked, r.cells, r.paint)
	}
}

func (t *table) line(p *printer, widths []int, stacked bool, cells []string, paint func(int, string) string) {
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		text := paint(i, c)
		switch {
		case i == 0 && stacked:
			b.WriteString(text + "\n")
			continue
		case i == len(cells)-1:
			pad = ""
		}
		if i > 0 {
			b.WriteString("  ")
		}
		if t.right[i] {
			b.WriteString(pad + text)
		} else {
			b.WriteString(text + pad)
		}
	}
	p.line("%s", strings.TrimRight(b.String(), " "))
}
