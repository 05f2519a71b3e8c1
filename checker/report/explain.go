package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fatih/color"

	"github.com/leasehold-checker/leasehold/checker"
)

// Told is a violation that can be explained, and where it stands.
type Told struct {
	Where    string // of what it is a violation: a cell, a file
	Property checker.Property
	Role     checker.Role
	Number   int // among the violations of its property, from 1
	Of       int // how many there are of its property, told or not
	Witness  *checker.Witness
}

// Violations lists what a result has to tell: the first violation of every property
// before the second of any, so that a hundred stale writes do not hide the one double
// grant. Those that gate come before those that are only reported.
func Violations(where string, r *checker.Result) []Told {
	var list []Told
	for _, role := range []checker.Role{checker.Gate, checker.Report} {
		for j, more := 0, true; more; j++ {
			more = false
			for i := range r.Properties {
				p := &r.Properties[i]
				if p.Role != role || j >= len(p.Witnesses) {
					continue
				}
				more = true
				list = append(list, Told{
					Where: where, Property: p.Property, Role: role, Number: j + 1, Of: max(p.Violations, len(p.Witnesses)), Witness: &p.Witnesses[j],
				})
			}
		}
	}
	return list
}

func (v *Told) heading() string {
	text := fmt.Sprintf("%s, violation %d of %d", Clean(string(v.Property)), v.Number, v.Of)
	if v.Role == checker.Report {
		text += " (reported only)"
	}
	return text
}

// WriteExplanation tells the violation with this number (from 1) in full: in sentences,
// and as a small history that can be judged again. The others are listed.
func WriteExplanation(w io.Writer, list []Told, number int, o TextOptions) error {
	p := &printer{o: o}
	v := &list[number-1]
	p.line("%s", p.paint(fmt.Sprintf("%d of %d: %s, in %s", number, len(list), v.heading(), Clean(v.Where)), color.Faint))
	p.story(v.Witness)
	if v.Witness.Histories != "" {
		p.line("")
		p.line("%s", p.paint("The same as a history (leasehold check judges it again):", color.Faint))
		for line := range strings.Lines(v.Witness.Histories) {
			p.line("  %s", Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	if len(list) > 1 {
		p.line("")
		p.line("%s", p.paint(fmt.Sprintf("There %s; --violation N tells of another:", are(len(list)-1)), color.Faint))
		for i := range list {
			if i != number-1 {
				p.wrapped(fmt.Sprintf("%4d  ", i+1), list[i].heading()+", in "+list[i].Where+": "+list[i].Witness.Title)
			}
		}
	}
	return p.flush(w)
}

func are(n int) string {
	if n == 1 {
		return "is one more"
	}
	return fmt.Sprintf("are %d more", n)
}
