package witness

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// TokenOrder tells of two tokens that are in the wrong order, or one that two
// workers had.
func TokenOrder(b *model.Book, f exact.TokenFault) Witness {
	t := &teller{b: b, h: b.History}
	earlier, later := f.Earlier.Token.Or(0), f.Later.Token.Or(0)
	w := Witness{Lock: f.Later.Lock, Stale: f.Later.Acquire, Core: sorted(f.Earlier.Acquire, f.Later.Acquire)}
	wrong := fmt.Sprintf("Token %d came certainly after token %d, and is smaller: a fence would refuse the newer holder and let the older one pass.", later, earlier)
	var extra []int
	if f.Shared {
		w.Title = fmt.Sprintf("token %d of the lock %s was granted to worker %s and to worker %s", later, cut(w.Lock), cut(f.Earlier.Worker), cut(f.Later.Worker))
		wrong = fmt.Sprintf("Two workers have token %d: no fence can tell them apart.", later)
	} else {
		w.Title = fmt.Sprintf("token %d of the lock %s was granted after token %d", later, cut(w.Lock), earlier)
		if w.Cause, extra = t.whySmaller(f); len(extra) > 0 {
			t.tellReason(extra[0], w.Cause)
		}
	}
	t.tellGrant(f.Earlier, nil)
	t.tellGrant(f.Later, nil)
	t.say(sentence{mood: Wrong, op: f.Later.Acquire, at: f.Later.Return, text: wrong})
	t.finish(&w, extra)
	return w
}

// whySmaller: tokens that had grown so far, and now begin below all of them, were
// reset.
func (t *teller) whySmaller(f exact.TokenFault) (histories.Cause, []int) {
	var extra []int
	restart := restarted(t.h, f.Earlier.Return, f.Later.Return)
	if restart >= 0 {
		extra = []int{restart}
	}
	before, last, reset := 0, int64(0), true
	for _, g := range t.b.Grants {
		token, known := g.Token.Get()
		if g.Lock != f.Later.Lock || g.Return >= f.Later.Invoke || !known {
			continue
		}
		reset = reset && token > f.Later.Token.Or(0) && (before == 0 || token >= last)
		before, last = before+1, token
	}
	switch {
	case reset && before > 1:
		return histories.CauseReset, extra
	case restart >= 0:
		return histories.CauseRestart, extra
	}
	return histories.CauseUnknown, nil
}
