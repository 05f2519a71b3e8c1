package model

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// Note is something to be drawn beside the operations: a pause, a grant.
type Note struct {
	Row      string // notes of one row stand in one line
	From, To int64  // ns
	Text     string
	Details  string
}

const (
	pageWindow = 200              // operations that a page shows
	pageLimit  = 10 * time.Second // for the search behind a page
)

// WritePage writes Porcupine's own HTML page about one question, for a window of
// some two hundred operations around one of them (a place in History.Ops, or -1).
// The window begins in the state in which the operations before it left the
// resource. All that comes from the history is made harmless (see label).
func (r *Resource) WritePage(ctx context.Context, w io.Writer, q Question, around int, notes []Note) error {
	t := newTask(ctx, r, q)
	if t.impossible || t.unready { // some interval may be empty, and Porcupine must not see it
		t.realTime()
	}
	order, from := t.window(around)
	state := t.start
	for _, i := range order[:from] {
		state = t.effect(state, int(i)) // whatever it was: this is how it ended
	}
	shown := order[from:min(len(order), from+pageWindow)]
	model := t.model(state)
	model.DescribeOperation = func(input, _ any) string { return label(t.describe(input.(int))) }
	model.DescribeState = func(state any) string { return label(t.describeState(state.(*reached).State)) }
	limit := pageLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(1, min(limit, time.Until(deadline)))
	}
	_, info := porcupine.CheckOperationsVerbose(model, t.operations(shown), limit)
	info.AddAnnotations(t.annotate(shown, notes))
	if err := porcupine.Visualize(model, info, w); err != nil {
		return fmt.Errorf("draw resource %q: %w", r.Name, err)
	}
	return nil
}

// realTime gives up on ranks: the picture then shows real time alone.
func (t *task) realTime() {
	for _, i := range t.in {
		t.call[i], t.ret[i] = t.ops[i].Invoke, t.ops[i].Answer
	}
}

// window is the operations by call, and where the window begins: about half its
// length before the given one, at a place that nothing reaches over, if there is
// one near.
func (t *task) window(around int) (order []int32, from int) {
	order = t.byCall()
	at := slices.IndexFunc(order, func(i int32) bool { return t.ops[i].At == around })
	earliest := max(0, at-pageWindow/2)
	reach := int64(math.MinInt64)
	for k, i := range order[:min(len(order), max(0, at))] {
		if k > earliest-pageWindow/4 && reach < t.call[i] && k <= earliest {
			from = k
		}
		reach = max(reach, t.ret[i])
	}
	if from == 0 {
		from = earliest
	}
	return order, from
}

func (t *task) describe(i int) string {
	o := &t.r.book.History.Ops[t.ops[i].At]
	text := short(o.Process) + ": " + string(o.F)
	if v, known := o.Value.Get(); known {
		text += " " + short(v)
	}
	if token, known := o.Token.Get(); known {
		text += fmt.Sprintf(", token %d", token)
	}
	if g := t.ops[i].Grant; g != nil {
		text += ", grant " + short(g.ID)
	}
	if n, known := o.Seq.Get(); known {
		text += fmt.Sprintf(", number %d", n)
	}
	if o.Type != histories.OK {
		text += " (no answer)"
	}
	return text
}

func (t *task) describeState(st State) string {
	text := "value ?"
	if st.value >= 0 {
		text = "value " + short(t.r.values[st.value])
	}
	if st.front.newest < 0 {
		return text
	}
	for i := range t.ops {
		if g := t.ops[i].Grant; t.slot[i] == 0 && g.place.pos == int(st.front.newest) {
			return text + ", touched by grant " + short(g.ID)
		}
	}
	return text
}

func short(word string) string { return show.Cut(word, 60) }

// lookAlikes are read as what they stand for, and are no HTML.
var lookAlikes = strings.NewReplacer("<", "‹", ">", "›", "&", "＆", "'", "′", `"`, "″")

// label makes a text fit for the page. Porcupine puts some labels into it as HTML and
// others as text, so an escaped name would show its escapes in the latter.
func label(text string) string { return lookAlikes.Replace(show.Cut(text, 300)) }

// annotate places notes in the picture. It has ranks instead of times if the
// resource numbers its operations; a note then goes from after what was answered
// before it to before what was invoked after it.
func (t *task) annotate(shown []int32, notes []Note) []porcupine.Annotation {
	var out []porcupine.Annotation
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, i := range shown {
		first, last = min(first, t.ops[i].Invoke), max(last, t.ops[i].Invoke)
	}
	for _, n := range notes {
		if n.To < first || n.From > last {
			continue
		}
		from, to := t.position(shown, n.From, n.To)
		out = append(out, porcupine.Annotation{
			Tag: label(n.Row), Start: from, End: to,
			Description: label(n.Text), Details: label(n.Details),
		})
	}
	return out
}

func (t *task) position(shown []int32, from, to int64) (start, end int64) {
	start, end = math.MinInt64, math.MaxInt64
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, i := range shown {
		o := &t.ops[i]
		low, high = min(low, t.call[i]), max(high, t.call[i])
		if o.Answer <= from {
			start = max(start, t.call[i]+1)
		}
		if o.Invoke >= to {
			end = min(end, t.call[i]-1)
		}
	}
	if start == math.MinInt64 {
		start = low - 1
	}
	if end == math.MaxInt64 {
		end = high + 1
	}
	return start, max(start, end)
}
