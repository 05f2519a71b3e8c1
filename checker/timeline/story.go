package timeline

import (
	"slices"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// Story is a violation, or the first trial of a history without one, told in
// sentences. Times are nanoseconds since the cell began.
type Story struct {
	Violation bool       `json:"violation"`
	Property  string     `json:"property"`
	Cause     string     `json:"cause"`
	Title     string     `json:"title"`
	Lock      string     `json:"lock"`
	Begin     int64      `json:"begin"`
	End       int64      `json:"end"`
	Stale     int        `json:"stale"` // the operation to point at; -1 if none
	Ops       []int      `json:"ops"`   // those that the story names
	Sentences []Sentence `json:"sentences"`
}

// Sentence is one step of a story. Lane says where its number stands in the
// picture: worker, store or resource, of the operation Op; "" for the time axis.
type Sentence struct {
	N    int    `json:"n"` // from 1
	Text string `json:"text"`
	Mood string `json:"mood"`
	Op   int    `json:"op"` // -1 if none
	At   int64  `json:"at"`
	Lane string `json:"lane"`
	Name string `json:"name"` // of the worker or resource
}

func buildStories(x *index, r checker.Result) []Story {
	var stories []Story
	for _, p := range r.Properties {
		for i := range p.Witnesses {
			if len(stories) < MaxStories {
				stories = append(stories, x.tell(string(p.Property), &p.Witnesses[i]))
			}
		}
	}
	if len(stories) > 0 {
		return stories
	}
	for i := range r.Coverage.Trials {
		if t := &r.Coverage.Trials[i]; t.Conclusive || t.Refused > 0 {
			return []Story{x.tellTrial(t)}
		}
	}
	return nil
}

func (x *index) tell(property string, w *checker.Witness) Story {
	s := Story{Violation: true, Property: text(property), Cause: text(string(w.Cause)), Title: show.Cut(w.Title, 2*maxText),
		Lock: text(w.Lock), Begin: w.BeginNS, End: w.EndNS, Stale: -1}
	for _, sentence := range w.Story {
		x.say(&s, sentence)
	}
	if x.op(w.Stale) != nil {
		s.Stale = w.Stale
		s.name(x, w.Stale)
		if s.Lock == "" {
			s.Lock = text(x.lockOf[w.Stale])
		}
	}
	for _, i := range slices.Concat(w.Core, w.Ops) {
		s.name(x, i)
	}
	s.frame(x)
	return s
}

// frame makes sure that what the story names lies between its ends.
func (s *Story) frame(x *index) {
	s.End = max(min(s.End, x.end), s.Begin)
	if s.End > s.Begin || len(s.Ops) == 0 {
		return
	}
	s.Begin = x.h.Ops[s.Ops[0]].Invoke
	for _, i := range s.Ops {
		s.Begin = min(s.Begin, x.h.Ops[i].Invoke)
		s.End = max(s.End, x.until(&x.h.Ops[i]))
	}
}

// name adds an operation to those that the story names.
func (s *Story) name(x *index, i int) {
	if x.op(i) != nil && !slices.Contains(s.Ops, i) && len(s.Ops) < 500 {
		s.Ops = append(s.Ops, i)
	}
}

func (x *index) say(s *Story, from checker.Sentence) {
	if len(s.Sentences) == 40 {
		return
	}
	one := Sentence{N: len(s.Sentences) + 1, Text: show.Cut(from.Text, 4*maxText), Mood: text(string(from.Mood)), Op: -1, At: from.TimeNS}
	if op := x.op(from.Op); op != nil {
		one.Op = from.Op
		one.Lane, one.Name = laneOf(op)
		if op.F == histories.Acquire && from.TimeNS < op.Return {
			one.Lane, one.Name = "worker", text(op.Process) // it tells of the question, not of the grant
		}
		s.name(x, from.Op)
	}
	s.Sentences = append(s.Sentences, one)
}

// laneOf says on which lane an operation is the news. A grant is news of the
// store, an answered write is news of the resource.
func laneOf(op *histories.Operation) (lane, name string) {
	switch {
	case op.Process == histories.Store || op.ByWorker() && op.F == histories.Acquire && op.Type == histories.OK:
		return "store", ""
	case op.Process == histories.Nemesis:
		return "worker", text(op.Target)
	case (op.F == histories.Write || op.F == histories.Open) && op.Answered():
		return "resource", text(op.Resource)
	}
	return "worker", text(op.Process)
}

// tellTrial tells of a trial in which nothing illegal happened: usually that the
// resource refused what came too late.
func (x *index) tellTrial(t *checker.Trial) Story {
	s := Story{Title: "a trial in which nothing illegal happened", Lock: text(t.Lock), Begin: t.StoppedNS, End: t.ContinuedNS, Stale: -1}
	worker := "Worker " + text(t.Process)
	stopped := worker + " was stopped"
	if t.Point != "" {
		stopped += " at " + text(string(t.Point))
	}
	x.say(&s, checker.Sentence{Text: stopped + " at " + show.Seconds(t.StoppedNS) + ", for " + show.Seconds(t.ContinuedNS-t.StoppedNS) + ".", Op: t.Pause, TimeNS: t.StoppedNS})
	if i := x.grantPlace(t.Grant); i >= 0 {
		s.name(x, i)
		// The picture begins with the grant, unless that was long ago.
		if begin := x.h.Ops[i].Return; begin < s.Begin && s.Begin-begin < 2*(s.End-s.Begin) {
			s.Begin = begin
		}
	}
	if i := x.endPlace(t); i >= 0 {
		op := &x.h.Ops[i]
		x.say(&s, checker.Sentence{Text: "Its lease ran out by " + show.Seconds(op.Invoke) + ": the store did the right thing.", Mood: checker.Right, Op: i, TimeNS: op.Invoke})
	}
	if i := x.grantPlace(t.Successor); i >= 0 {
		op := &x.h.Ops[i]
		with := ""
		if token := number(op.Token); token != "" {
			with = " with token " + token
		}
		x.say(&s, checker.Sentence{Text: "Meanwhile the store granted " + text(t.Lock) + " to worker " + text(op.Process) + with + " at " + show.Seconds(op.Return) + ".", Op: i, TimeNS: op.Return})
	}
	if op := x.op(t.Write); op != nil {
		said, mood := "the resource took it", checker.Plain
		if op.Fenced() {
			said, mood = "the resource refused it", checker.Right
			s.Title = "the resource refused the stale write"
		}
		under := ""
		if token := number(op.Token); token != "" {
			under = " under token " + token
		}
		x.say(&s, checker.Sentence{Text: worker + " went on, still believed that it held the lock, and wrote " + short(op.Value.Or("")) + under + " at " + show.Seconds(op.Invoke) + ": " + said + ".", Mood: mood, Op: t.Write, TimeNS: x.until(op)})
		s.End = max(s.End, x.until(op))
	}
	s.name(x, t.Resume)
	s.frame(x)
	return s
}

// endPlace finds where the store let the lease of a stopped worker run out; -1 if
// that was not seen.
func (x *index) endPlace(t *checker.Trial) int {
	for i := range x.h.Ops {
		op := &x.h.Ops[i]
		if op.Process == histories.Store && op.F == histories.Expire && op.Lock == t.Lock && op.Target == t.Process && op.Invoke >= t.StoppedNS && op.Invoke <= t.ContinuedNS {
			return i
		}
	}
	return -1
}

// grantPlace finds the acquire of a grant; -1 if there is none.
func (x *index) grantPlace(grant string) int {
	named := map[string]int{}
	for i := range x.h.Ops {
		op := &x.h.Ops[i]
		if op.F != histories.Acquire || op.Type != histories.OK || !op.ByWorker() {
			continue
		}
		named[op.Process]++
		id := op.Grant
		if id == "" {
			id = grantID(op.Process, named[op.Process])
		}
		if id == grant && grant != "" {
			return i
		}
	}
	return -1
}
