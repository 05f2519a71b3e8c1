package timeline

import (
	"cmp"
	"math"
	"slices"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// Mark says how an operation is drawn.
type Mark string

// The marks. Each has a shape of its own.
const (
	MarkStep    Mark = "step"    // something on a lock, a check, a fault: a small stroke
	MarkWait    Mark = "wait"    // an acquire: a dashed bar
	MarkRead    Mark = "read"    // a disc
	MarkOK      Mark = "ok"      // an accepted write: a filled square
	MarkStale   Mark = "stale"   // an accepted operation that breaks a property: stale, or over an unseen update; large
	MarkRefused Mark = "refused" // by the fence: a crossed outline
	MarkFailed  Mark = "failed"  // a definite no for another reason: an outline
	MarkUnknown Mark = "unknown" // no definite answer: a dashed outline
	MarkEnd     Mark = "end"     // the store ended a lease: a diamond
)

// Op is one operation for the page. Times are nanoseconds since the cell began.
type Op struct {
	N        int    `json:"n"` // place in History.Ops
	Process  string `json:"process"`
	F        string `json:"f"`
	Type     string `json:"type"`
	Begin    int64  `json:"begin"`
	End      int64  `json:"end"` // -1: never answered
	At       int64  `json:"at"`  // where its mark stands
	Mark     Mark   `json:"mark"`
	Label    string `json:"label"`
	Lock     string `json:"lock,omitempty"`
	Resource string `json:"resource,omitempty"`
	Grant    string `json:"grant,omitempty"`
	Token    string `json:"token,omitempty"` // decimal
	Seq      string `json:"seq,omitempty"`   // decimal
	Value    string `json:"value,omitempty"`
	Held     string `json:"held,omitempty"` // yes or no
	Error    string `json:"error,omitempty"`
	Target   string `json:"target,omitempty"`
	Point    string `json:"point,omitempty"`
	Text     string `json:"text,omitempty"`
	Over     string `json:"over,omitempty"` // a stale write: the value that it replaced
}

// buildOps makes the chosen operations, in their order, as far as they fit.
func buildOps(x *index, r checker.Result, chosen []int) []Op {
	stale := staleOps(x, r)
	at, before := commits(x)
	ops := make([]Op, 0, len(chosen))
	bytes := 0
	for _, i := range chosen {
		op := buildOp(x, i, stale[i])
		op.At = cmp.Or(at[i], op.At)
		if last, ok := before[i]; ok && op.Mark == MarkStale && x.h.Ops[last].Process != x.h.Ops[i].Process {
			op.Over = short(x.h.Ops[last].Value.Or(""))
		}
		if bytes += weight(op); bytes > maxBytes {
			break
		}
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b Op) int { return cmp.Compare(a.N, b.N) })
	return ops
}

func buildOp(x *index, i int, stale bool) Op {
	o := &x.h.Ops[i]
	op := Op{
		N: i, Process: text(o.Process), F: text(string(o.F)), Type: text(string(o.Type)), Begin: o.Invoke, End: o.Return, At: o.Invoke,
		Lock: text(x.lockOf[i]), Resource: text(o.Resource), Grant: text(o.Grant), Token: number(o.Token), Seq: number(o.Seq),
		Value: text(o.Value.Or("")), Error: text(o.Error), Target: text(o.Target), Point: text(string(o.Point)), Text: text(o.Text),
	}
	if o.Return == histories.Never {
		op.End = -1
	}
	if held, ok := o.Held.Get(); ok {
		op.Held = map[bool]string{true: "yes", false: "no"}[held]
	}
	op.Mark, op.Label = markOf(o, stale), labelOf(o)
	if op.Mark == MarkWait || o.Process == histories.Nemesis && o.F == histories.Pause {
		op.At = x.until(o)
	}
	return op
}

func markOf(o *histories.Operation, stale bool) Mark {
	switch {
	case o.Process == histories.Store:
		return MarkEnd
	case o.F == histories.Acquire:
		return MarkWait
	case !o.ByWorker() || !o.F.OnResource() && o.Type == histories.OK:
		return MarkStep
	case o.Fenced():
		return MarkRefused
	case o.Type == histories.Fail:
		return MarkFailed
	case o.Type != histories.OK:
		return MarkUnknown
	case stale:
		return MarkStale
	case o.F == histories.Write:
		return MarkOK
	}
	return MarkRead
}

// labelOf is what stands beside a mark on its worker's lane.
func labelOf(o *histories.Operation) string {
	label := short(string(o.F))
	switch {
	case !o.ByWorker():
		if o.Target != "" {
			label += " " + short(o.Target)
		} else if o.Text != "" {
			label += " " + short(o.Text)
		}
		return label
	case o.Value.Known():
		label += " " + short(o.Value.Or(""))
	case o.F == histories.Check && o.Held.Known():
		label += map[bool]string{true: ": held", false: ": not held"}[o.Held.Or(false)]
	}
	switch {
	case o.Fenced():
		label += ": refused"
	case o.Type == histories.Fail:
		label += ": failed"
	case o.Type != histories.OK:
		label += ": unknown"
	}
	return label
}

func short(s string) string { return show.Cut(s, maxLabel) }

// weight is about how many bytes an operation takes in the page: a character may
// be written as six.
func weight(op Op) int {
	n := 200
	for _, s := range []string{op.Process, op.F, op.Label, op.Lock, op.Resource, op.Grant, op.Value, op.Error, op.Target, op.Point, op.Text, op.Over} {
		n += len(s)
		for i := range len(s) {
			if s[i] < ' ' || s[i] == '<' || s[i] == '>' || s[i] == '&' || s[i] == '"' || s[i] == '\\' || s[i] == '\'' || s[i] >= 0x80 {
				n += 5
			}
		}
	}
	return n
}

// staleOps are the accepted operations at which a witness points, or that a trial
// calls stale.
func staleOps(x *index, r checker.Result) map[int]bool {
	stale := map[int]bool{}
	add := func(i int) {
		if op := x.op(i); op != nil && op.Type == histories.OK && op.F.OnResource() {
			stale[i] = true
		}
	}
	for _, p := range r.Properties {
		for _, w := range p.Witnesses {
			add(w.Stale)
		}
	}
	for _, t := range r.Coverage.Trials {
		if t.Accepted > 0 {
			add(t.Write)
		}
	}
	return stale
}

// commits places the operations that carry a commit number in the order of these
// numbers: each as late as its own answer and the next one's place allow. It
// also names, for a write, the accepted write before it.
//
// The order matters where an operation was invoked before a pause and sent after
// it: by its invocation it would stand before the successor's.
func commits(x *index) (at map[int]int64, before map[int]int) {
	byResource := map[string][]int{}
	for i := range x.h.Ops {
		op := &x.h.Ops[i]
		if op.Resource != "" && op.Seq.Known() && op.Return != histories.Never {
			byResource[op.Resource] = append(byResource[op.Resource], i)
		}
	}
	at, before = map[int]int64{}, map[int]int{}
	for _, places := range byResource {
		slices.SortStableFunc(places, func(a, b int) int {
			return cmp.Compare(x.h.Ops[a].Seq.Or(0), x.h.Ops[b].Seq.Or(0))
		})
		next := int64(math.MaxInt64)
		for _, i := range slices.Backward(places) {
			op := &x.h.Ops[i]
			next = max(min(next, op.Return), op.Invoke)
			at[i] = next
		}
		last := -1
		for _, i := range places {
			if op := &x.h.Ops[i]; op.F == histories.Write && op.Type == histories.OK {
				if last >= 0 {
					before[i] = last
				}
				last = i
			}
		}
	}
	return at, before
}
