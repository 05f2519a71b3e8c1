package histories

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"
)

// The columns of FormatText are no wider than this; a longer line sticks out.
const (
	maxTimeColumn = 24
	maxWhatColumn = 48
)

// FormatText writes a valid history in the text notation. Parsing what it wrote
// gives the same history, but for Line, Source, Warnings, the numbers of
// operations and what only names a run: Cell, Seed and Versions.
//
// What the notation cannot say (a name with a blank in it, an empty written
// value, a text of two lines) is an error, never a silent change; JSON Lines can
// say everything.
func FormatText(w io.Writer, h *History) error {
	if err := Validate(h); err != nil {
		return fmt.Errorf("format history: %w", err)
	}
	header, err := sayHeader(h.Header)
	if err != nil {
		return fmt.Errorf("format history: %w", err)
	}
	lines := make([]textLine, len(h.Ops))
	var timeColumn, whatColumn int
	for i := range h.Ops {
		l := sayOperation(&h.Ops[i])
		if err := l.check(&h.Ops[i]); err != nil {
			return fmt.Errorf("format op %d of process %s: %w", h.Ops[i].ID, h.Ops[i].Process, err)
		}
		timeColumn = max(timeColumn, min(len(l.time), maxTimeColumn))
		if l.result != "" {
			whatColumn = max(whatColumn, min(utf8.RuneCountInString(l.what), maxWhatColumn))
		}
		lines[i] = l
	}
	out := bufio.NewWriter(w) // keeps its first error for Flush
	out.Write(header)
	out.WriteByte('\n')
	for i := range lines {
		lines[i].write(out, timeColumn, whatColumn)
	}
	if end, known := h.Header.End.Get(); known {
		fmt.Fprintf(out, "%-*s end\n", timeColumn, appendMillis(nil, end))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// FormatOperation gives the line of one operation, without padding: what a
// message shows to people. It may not parse if the operation holds something
// that the notation cannot say.
func FormatOperation(o *Operation) string { return sayOperation(o).String() }

// textLine is a line in its three columns.
type textLine struct{ time, what, result string }

func (l textLine) String() string {
	if l.result == "" {
		return l.time + " " + l.what
	}
	return l.time + " " + l.what + " -> " + l.result
}

func (l textLine) write(w io.Writer, timeColumn, whatColumn int) {
	if l.result == "" {
		fmt.Fprintf(w, "%-*s %s\n", timeColumn, l.time, l.what)
		return
	}
	fmt.Fprintf(w, "%-*s %-*s -> %s\n", timeColumn, l.time, whatColumn, l.what, l.result)
}

// check reads the line back: the one way to be sure that it says the operation.
func (l textLine) check(o *Operation) error {
	line := l.String()
	if len(line)+maxWhatColumn+maxTimeColumn > maxLine {
		return errLongLine
	}
	back, err := parseOperation(line)
	if err != nil {
		return fmt.Errorf("the text notation cannot say %.80q: %w", line, err)
	}
	back.ID, back.Line = o.ID, o.Line
	if back != *o || !oneLine(line) {
		return fmt.Errorf("the text notation cannot say %.80q: it would read differently", line)
	}
	return nil
}

func oneLine(s string) bool {
	for i := range len(s) {
		if s[i] == '\n' {
			return false
		}
	}
	return true
}

func sayOperation(o *Operation) textLine {
	l := textLine{time: string(appendTimes(nil, o))}
	b := append([]byte(o.Process), ' ')
	b = append(b, o.F...)
	if o.ByWorker() {
		l.what, l.result = string(appendArguments(b, o)), string(appendResult(nil, o))
		if o.F == Lost && (o.Type == OK || o.Return == Never) {
			l.result = ""
		}
		return l
	}
	l.what = string(appendEvent(b, o))
	// An arrow in the free text is told from the result's by being the last but one.
	if _, _, arrows := cutResult(l.what); arrows || o.Type == Fail || o.Type == Info && o.Return != Never {
		l.result = string(appendResult(nil, o))
	}
	return l
}

func appendTimes(b []byte, o *Operation) []byte {
	b = appendMillis(b, o.Invoke)
	switch {
	case o.Instant():
		return b
	case o.Return == Never:
		return append(b, ".."...)
	}
	return appendMillis(append(b, ".."...), o.Return)
}

func appendArguments(b []byte, o *Operation) []byte {
	b = append(b, ' ')
	if o.F.OnResource() {
		b = append(b, o.Resource...)
	} else {
		b = append(b, o.Lock...)
	}
	if value, known := o.Value.Get(); known && o.F == Write {
		b = append(append(b, ' '), value...)
	}
	b = appendWord(b, "mode", o.Mode)
	if o.TTLAsked != 0 {
		b = fmt.Appendf(b, " ttl=%d", o.TTLAsked)
	}
	if token, known := o.Token.Get(); known && o.F != Acquire {
		b = fmt.Appendf(b, " token=%d", token)
	}
	if !o.GrantLate {
		b = appendWord(b, "grant", o.Grant)
	}
	b = appendWord(b, "under", o.Under)
	if o.F.OnResource() {
		b = appendWord(b, "lock", o.Lock)
	}
	return appendWord(b, "session", o.Session)
}

func appendResult(b []byte, o *Operation) []byte {
	b = append(b, o.Type...)
	if token, known := o.Token.Get(); known && o.F == Acquire {
		b = fmt.Appendf(b, " token=%d", token)
	}
	if o.TTL != 0 {
		b = fmt.Appendf(b, " ttl=%d", o.TTL)
	}
	if o.GrantLate {
		b = appendWord(b, "grant", o.Grant)
	}
	if value, known := o.Value.Get(); known && o.F != Write {
		b = append(append(b, " value="...), value...)
	}
	if held, known := o.Held.Get(); known {
		b = fmt.Appendf(b, " held=%t", held)
	}
	if o.Error != "" {
		b = append(append(b, ' '), o.Error...)
	}
	if seq, known := o.Seq.Get(); known {
		b = fmt.Appendf(b, " seq=%d", seq)
	}
	if count, known := o.HoldsLeft.Get(); known {
		b = fmt.Appendf(b, " count=%d", count)
	}
	return b
}

func appendWord(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(b, ' '), name...)
	return append(append(b, '='), value...)
}
