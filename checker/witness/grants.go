package witness

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// Exclusion tells of a promise broken: who was promised what until when, and who was
// granted or renewed meanwhile.
func Exclusion(b *model.Book, x exact.Breach) Witness {
	t := &teller{b: b, h: b.History}
	p := &x.Proofs[0]
	w := Witness{Lock: p.Newer.Lock, Stale: p.Late}
	for _, q := range x.Proofs {
		w.Core = append(w.Core, q.Older.Acquire, q.Newer.Acquire, q.Promise, q.Late)
	}
	w.Core = sorted(w.Core...)
	var extra []int
	switch {
	case len(x.Proofs) > 1:
		w.Title = fmt.Sprintf("workers %s and %s were granted the lock %s at once", cut(p.Older.Worker), cut(p.Newer.Worker), cut(w.Lock))
		t.tellTogether(x.Proofs)
	case p.Early():
		w.Title = fmt.Sprintf("worker %s was granted the lock %s %s", cut(p.Newer.Worker), cut(w.Lock), t.beforeEnd(p))
		w.Cause, extra = t.reason(p)
		t.tellEarly(p, w.Cause, extra)
	default:
		w.Title = fmt.Sprintf("worker %s's lease of %s was renewed although the lock was promised to worker %s", cut(p.Older.Worker), cut(w.Lock), cut(p.Newer.Worker))
		t.tellRenewed(p)
	}
	t.finish(&w, extra)
	return w
}

// finish sorts the story, and makes a history of all that it names.
func (t *teller) finish(w *Witness, extra []int) {
	last := t.said[len(t.said)-1]
	t.said = t.said[:len(t.said)-1]
	slices.SortStableFunc(t.said, func(a, b sentence) int { return cmp.Compare(a.at, b.at) })
	t.said = append(t.said, last)
	w.Story = t.sentences()
	in := map[int]bool{}
	for _, i := range slices.Concat(w.Core, extra) {
		in[i] = true
	}
	for _, s := range w.Story {
		in[s.Op] = s.Op >= 0
	}
	for _, i := range keys(in, len(t.h.Ops)) {
		if g := t.b.Own(i); g != nil {
			in[g.Acquire] = true
		}
	}
	w.Ops = keys(in, len(t.h.Ops))
	w.BeginNS, w.EndNS = span(t.h, w.Ops)
	w.Histories = subHistory(t.b, w.Ops)
}

// beforeEnd is by how much the grant came too early.
func (t *teller) beforeEnd(p *exact.Proof) string {
	if p.End == histories.Never {
		return fmt.Sprintf("while it was promised to worker %s without an end", cut(p.Older.Worker))
	}
	return fmt.Sprintf("%s before the promise to worker %s ended", millis(p.End-p.Newer.Return), cut(p.Older.Worker))
}

// millis writes a span to the nanosecond: a millisecond may decide.
func millis(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', -1, 64) + " ms" }

// tellGrant tells of a grant, and of the promise if the acquire itself gave it.
func (t *teller) tellGrant(g *model.Grant, p *exact.Proof) {
	text := fmt.Sprintf("was granted the lock %s%s%s at %s", cut(g.Lock), underToken(g.Token), lease(&t.h.Ops[g.Acquire]), seconds(g.Return))
	if p != nil && p.Promise == g.Acquire {
		text += fmt.Sprintf("; it had asked at %s, so %s", seconds(g.Invoke), promised(p.End))
	}
	t.say(sentence{subject: g.Worker, op: g.Acquire, at: g.Return, text: text + "."})
}

func promised(end int64) string {
	if end == histories.Never {
		return "it was promised the lock until it released it"
	}
	return fmt.Sprintf("the lock was promised to it until %s", seconds(end))
}

// tellPromise tells of the renewal that gave the promise, if one did.
func (t *teller) tellPromise(g *model.Grant, p *exact.Proof) {
	if p.Promise == g.Acquire {
		return
	}
	o := &t.h.Ops[p.Promise]
	t.say(sentence{subject: g.Worker, op: p.Promise, at: o.Invoke,
		text: fmt.Sprintf("asked at %s to renew its lease, and was answered ok: %s.", seconds(o.Invoke), promised(p.End))})
}

func (t *teller) tellEarly(p *exact.Proof, cause histories.Cause, extra []int) {
	t.tellGrant(p.Older, p)
	t.tellPromise(p.Older, p)
	for _, i := range extra {
		t.tellReason(i, cause)
	}
	t.tellGrant(p.Newer, nil)
	if p.Older.Return >= p.Newer.Invoke {
		t.say(sentence{op: -1, at: max(p.Older.Return, p.Newer.Return), text: fmt.Sprintf("The two acquires overlap: that worker %s came first is known from its smaller token alone. "+
			"A lock that draws its token in a step of its own can look like this.", cut(p.Older.Worker))})
	}
	text := fmt.Sprintf("Worker %s was granted the lock while worker %s was promised it without an end", cut(p.Newer.Worker), cut(p.Older.Worker))
	if p.End != histories.Never {
		text = fmt.Sprintf("Worker %s was granted the lock %s too early: it was promised to worker %s until %s",
			cut(p.Newer.Worker), millis(p.End-p.Newer.Return), cut(p.Older.Worker), seconds(p.End))
	}
	t.say(sentence{mood: Wrong, op: p.Late, at: p.Newer.Return, text: text + ", and neither a release of that grant nor a revocation is on record before that."})
}

func (t *teller) tellRenewed(p *exact.Proof) {
	t.tellGrant(p.Older, nil)
	t.tellGrant(p.Newer, p)
	t.tellPromise(p.Newer, p)
	o := &t.h.Ops[p.Late]
	t.say(sentence{subject: p.Older.Worker, op: p.Late, at: o.Return,
		text: fmt.Sprintf("asked at %s to renew its older lease, and was answered ok at %s.", seconds(o.Invoke), seconds(o.Return))})
	t.say(sentence{mood: Wrong, op: p.Late, at: o.Return, text: fmt.Sprintf(
		"Two workers were promised the lock: it had been granted to worker %s before worker %s asked, and neither a release of that grant nor a revocation is on record before that.",
		cut(p.Newer.Worker), cut(p.Older.Worker))})
}

// tellTogether: whichever of the two came first, a promise was broken.
func (t *teller) tellTogether(proofs []exact.Proof) {
	for k := range proofs {
		p := &proofs[k]
		keeper := p.Older
		if !p.Early() { // the promise is to the newer one, and this is its grant's story
			keeper = p.Newer
		}
		t.tellGrant(p.Older, p)
		t.tellPromise(keeper, p)
		if !p.Early() {
			o := &t.h.Ops[p.Late]
			t.say(sentence{subject: p.Older.Worker, op: p.Late, at: o.Return,
				text: fmt.Sprintf("asked at %s to renew its lease, and was answered ok at %s.", seconds(o.Invoke), seconds(o.Return))})
		}
	}
	late := &t.h.Ops[proofs[0].Late]
	t.say(sentence{mood: Wrong, op: proofs[0].Late, at: late.Return, text: "The two acquires overlap, and their order is not known. Either is wrong: " +
		"whichever came first, the other one was granted or renewed while it was promised the lock, and neither a release of that grant nor a revocation is on record before that."})
}
