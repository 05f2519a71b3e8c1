package witness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// sentence is a Sentence before it is known what came before it: its subject is
// named, or is "it".
type sentence struct {
	subject    string // a worker; "" if the text says all
	possessive bool
	text       string
	mood       Mood
	op         int
	at         int64
}

// story tells the case in the order of events.
func (t *teller) story() []Sentence {
	t.said = nil
	switch {
	case t.late < 0:
		t.tellCore()
	case t.ordered():
		t.tellOlder()
		t.tellEnd()
		t.tellNewer()
		t.tellLate()
	default:
		t.tellRivals()
	}
	slices.SortStableFunc(t.said, func(a, b sentence) int { return cmp.Compare(a.at, b.at) })
	t.tellWrong()
	return t.sentences()
}

func (t *teller) say(s sentence) { t.said = append(t.said, s) }

func (t *teller) sentences() []Sentence {
	out := make([]Sentence, 0, len(t.said))
	last := ""
	for _, s := range t.said {
		subject := ""
		switch {
		case s.subject == "":
		case s.subject == last && s.possessive:
			subject = "Its "
		case s.subject == last:
			subject = "It "
		case s.possessive:
			subject = "Worker " + cut(s.subject) + "'s "
		default:
			subject = "Worker " + cut(s.subject) + " "
		}
		last = s.subject
		out = append(out, Sentence{Text: subject + s.text, Mood: s.mood, Op: s.op, TimeNS: s.at})
	}
	return out
}

// tellOlder: the grant, what was done under it, and the stop.
func (t *teller) tellOlder() {
	g := t.older
	acquire := &t.h.Ops[g.Acquire]
	asleep := t.stop != nil && t.stop.From <= g.Return // it could read the answer only later
	if asleep {
		t.say(sentence{subject: g.Worker, op: g.Acquire, at: g.Invoke,
			text: fmt.Sprintf("asked for the lock %s%s at %s.", cut(g.Lock), lease(acquire), seconds(g.Invoke))})
	} else {
		t.say(sentence{subject: g.Worker, op: g.Acquire, at: g.Return,
			text: fmt.Sprintf("was granted the lock %s%s%s at %s.", cut(g.Lock), underToken(g.Token), lease(acquire), seconds(g.Return))})
	}
	did, op, at := t.before()
	if t.stop == nil {
		if did != "" {
			t.say(sentence{subject: t.h.Ops[t.late].Process, op: op, at: at, text: did + "."})
		}
		return
	}
	stopped := "was stopped"
	if did != "" {
		stopped = did + "; then it was stopped"
	}
	where := ""
	if p := t.h.Ops[t.stop.Pause].Point; p != "" {
		where = fmt.Sprintf(" (code point %s)", cut(string(p)))
	}
	t.say(sentence{subject: g.Worker, op: t.stop.Pause, at: t.stop.From,
		text: fmt.Sprintf("%s at %s%s.", stopped, seconds(t.stop.From), where)})
}

// before is what the older holder had seen last.
func (t *teller) before() (text string, op int, at int64) {
	var parts []string
	for _, i := range sorted(t.read, t.check) {
		if i < 0 {
			continue
		}
		switch t.h.Ops[i].F {
		case histories.Read:
			parts = append(parts, "read "+value(t.h, i))
		case histories.Open:
			parts = append(parts, "opened the resource")
		case histories.Check:
			parts = append(parts, "checked that it still held the lock")
		}
		op, at = i, t.h.Ops[i].Return
	}
	return strings.Join(parts, " and "), op, at
}

func (t *teller) tellNewer() {
	g := t.newer
	waited := ""
	if at, known := t.freed(); known && g.Invoke < at {
		waited = "had been waiting, and "
	}
	what := "the lock"
	if token, known := g.Token.Get(); known {
		what = fmt.Sprintf("token %d", token)
	}
	text := fmt.Sprintf("%swas granted %s at %s", waited, what, seconds(g.Return))
	if t.write == t.touch && t.base >= 0 { // the newer holder had read too early
		text += fmt.Sprintf(", and read %s", value(t.h, t.base))
	}
	t.say(sentence{subject: g.Worker, op: g.Acquire, at: g.Return, text: text + "."})
	o := &t.h.Ops[t.touch]
	text = t.did(t.touch) + ": " + t.accepted(t.touch)
	if n, known := o.Seq.Get(); known {
		text = fmt.Sprintf("%s; the resource took it as number %d", t.did(t.touch), n)
	}
	if t.lost >= 0 && t.lost != t.touch && t.h.Ops[t.lost].Process == o.Process && t.kind == stale {
		text += fmt.Sprintf(", and %s after it", value(t.h, t.lost))
	}
	t.say(sentence{subject: o.Process, op: t.touch, at: o.Return, text: text + "."})
}

// freed is when the older lease ended, as far as it is known.
func (t *teller) freed() (int64, bool) {
	if t.end.kind == endUnknown || t.end.kind == endNotYet {
		return 0, false
	}
	return t.end.at, true
}

// did is what an operation did, without its time.
func (t *teller) did(i int) string {
	switch t.h.Ops[i].F {
	case histories.Write:
		return "wrote " + value(t.h, i)
	case histories.Read:
		return "read " + value(t.h, i)
	}
	return "opened the resource"
}

func (t *teller) tellLate() {
	o := &t.h.Ops[t.late]
	how := ""
	if t.stop != nil && t.stop.Resume >= 0 && t.stop.To <= o.Return && !t.underWay() {
		how = t.wentOn()
		if t.stop.From <= t.older.Return {
			how += fmt.Sprintf("learned that it had been granted the lock%s, ", underToken(t.older.Token))
		}
		if t.regranted() == nil && t.believes() {
			how += "still believing that it held the lock, "
		}
		if t.again >= 0 {
			how += fmt.Sprintf("read %s, ", value(t.h, t.again))
		}
	}
	if t.refused >= 0 {
		how += fmt.Sprintf("was refused %s%s at %s, ", value(t.h, t.refused), t.sent(t.refused), seconds(t.h.Ops[t.refused].Return))
	}
	decided := ""
	if g := t.regranted(); g != nil {
		how += fmt.Sprintf("was granted the lock again%s at %s, ", underToken(g.Token), seconds(g.Return))
		decided = ", a value decided under " + grantName(t.older)
	}
	if how != "" {
		how += "and "
	}
	if t.underWay() {
		decided += fmt.Sprintf(", asked for at %s, before it was stopped", seconds(o.Invoke))
	}
	text := how + t.did(t.late) + t.sent(t.late) + decided + ": " + t.accepted(t.late) + "."
	t.say(sentence{subject: o.Process, op: t.late, at: o.Return, text: text})
}

// wentOn is the end of the stop, which nobody may have confirmed.
func (t *teller) wentOn() string {
	if t.h.Ops[t.stop.Resume].Type != histories.OK {
		return fmt.Sprintf("was told to go on at %s, ", seconds(t.stop.To))
	}
	return fmt.Sprintf("went on at %s after %s, ", seconds(t.stop.To), seconds(t.stop.To-t.stop.From))
}

// underWay tells whether the late request may have been on its way already when its
// worker was stopped. At the point before-write it certainly was not, although its
// invocation is on file.
func (t *teller) underWay() bool {
	return t.stop != nil && t.h.Ops[t.late].Invoke < t.stop.To && t.h.Ops[t.stop.Pause].Point != histories.PointBeforeWrite
}

// regranted is the newer grant of the older holder under which it did what it had
// decided under the older one; nil if it did not wait for one.
func (t *teller) regranted() *model.Grant {
	if g := t.b.Own(t.late); g != nil && g != t.older && g.Acquire > t.older.Acquire {
		return g
	}
	return nil
}

// sent is the token that came with an operation.
func (t *teller) sent(i int) string {
	o, g := &t.h.Ops[i], t.b.Own(i)
	token, known := o.Token.Get()
	switch {
	case !known:
		return " without a token"
	case g != nil && g.Token.Known() && g.Token != o.Token:
		return fmt.Sprintf(" with token %d, which was not its grant's (%d)", token, g.Token.Or(0))
	}
	return underToken(o.Token)
}

// believes tells whether the last that the late operation's worker had heard of its
// lease was that it held it, and it did nothing to end it.
func (t *teller) believes() bool {
	held := false
	late, g := &t.h.Ops[t.late], t.b.Own(t.late)
	for i := range t.late {
		o := &t.h.Ops[i]
		if o.Process != late.Process {
			continue
		}
		answered, mine := o.Return <= late.Invoke, t.b.Own(i) == g
		switch {
		case o.F == histories.Release && g != nil && o.Lock == g.Lock:
			held = held && o.Type == histories.OK && o.HoldsLeft.Or(0) > 0
		case !mine || !answered:
		case o.F == histories.Check && o.Type == histories.OK:
			held = o.Held.Or(false)
		case o.F == histories.Lost, o.F == histories.Renew && o.Type == histories.Fail:
			held = false
		}
	}
	return held
}

func (t *teller) accepted(i int) string {
	o := &t.h.Ops[i]
	if n, known := o.Seq.Get(); known {
		return fmt.Sprintf("accepted as number %d", n)
	}
	if o.Return == histories.Never {
		return fmt.Sprintf("sent at %s", seconds(o.Invoke))
	}
	return fmt.Sprintf("accepted at %s", seconds(o.Return))
}

// tellRivals is for two workers that had no order: neither is the older holder.
func (t *teller) tellRivals() {
	for _, i := range []int{t.base, t.lost, t.write} {
		if g := t.b.Own(i); g != nil && i != t.base {
			t.say(sentence{subject: g.Worker, op: g.Acquire, at: g.Return,
				text: fmt.Sprintf("was granted the lock %s%s at %s.", cut(g.Lock), underToken(g.Token), seconds(g.Return))})
		}
		o := &t.h.Ops[i]
		t.say(sentence{subject: o.Process, op: i, at: o.Return,
			text: fmt.Sprintf("%s: %s.", t.did(i), t.accepted(i))})
	}
	if s := t.between; s != nil {
		t.say(sentence{subject: s.Worker, op: s.Pause, at: s.From, text: fmt.Sprintf("was stopped at %s%s.", seconds(s.From), lasting(s))})
	}
}

func lasting(s *model.Stop) string {
	if s.To == histories.Never {
		return ""
	}
	return " for " + seconds(s.To-s.From)
}

// tellCore is for operations that only a search found illegal.
func (t *teller) tellCore() {
	const most = 6
	for n, i := range t.Core {
		o := &t.h.Ops[i]
		if n == most-1 && len(t.Core) > most {
			t.say(sentence{op: -1, at: o.Invoke, text: fmt.Sprintf("%d more operations follow.", len(t.Core)-n)})
			return
		}
		text := t.did(i)
		if o.Return == histories.Never || o.Type != histories.OK {
			text = fmt.Sprintf("asked at %s to write %s, and had no answer", seconds(o.Invoke), value(t.h, i))
		} else {
			text += ": " + t.accepted(i)
		}
		t.say(sentence{subject: o.Process, op: i, at: o.Invoke, text: text + "."})
	}
}

// tellWrong is the last sentence: the violation itself.
func (t *teller) tellWrong() {
	s := sentence{mood: Wrong, op: t.pointAt()}
	s.at = t.h.Ops[s.op].Invoke
	switch {
	case t.lost >= 0:
		s.text = fmt.Sprintf("%s is gone: an acknowledged update is lost.", value(t.h, t.lost))
		if t.h.Ops[t.lost].Value == t.h.Ops[t.write].Value {
			s.text = fmt.Sprintf("The update of worker %s was acknowledged, and overwritten unseen with the same value: it is lost.", cut(t.h.Ops[t.lost].Process))
		} else if t.next >= 0 {
			r := &t.h.Ops[t.next]
			s.text = fmt.Sprintf("Worker %s then read %s; %s", cut(r.Process), value(t.h, t.next), s.text)
			s.op, s.at = t.next, r.Return
		}
	case t.kind == stale:
		s.text = fmt.Sprintf("The resource had already taken an operation of worker %s under %s: a stale %s was accepted.",
			cut(t.newer.Worker), grantName(t.newer), t.h.Ops[t.late].F)
	case t.kind == orphan:
		s.text = fmt.Sprintf("Nobody wrote %s, and it was not there at the start.", value(t.h, t.Core[0]))
	case t.kind == searchStale:
		s.text = "In whatever order they took effect, one of an older grant came after one of a newer."
	case t.kind == searchUnseen:
		s.text = "In whatever order they took effect, an acknowledged write was overwritten by another worker that had not seen it."
	default:
		s.text = "No order of these operations explains what was read: an acknowledged write is missing."
	}
	t.say(s)
}

func underToken(token histories.Option[int64]) string {
	if n, known := token.Get(); known {
		return fmt.Sprintf(" under token %d", n)
	}
	return ""
}

func lease(acquire *histories.Operation) string {
	switch ms := acquire.EffectiveTTL(); {
	case ms == 0:
		return ""
	case ms%1000 == 0:
		return fmt.Sprintf(" (lease of %d s)", ms/1000)
	default:
		return fmt.Sprintf(" (lease of %d ms)", ms)
	}
}

func seconds(ns int64) string { return show.Seconds(ns) }
