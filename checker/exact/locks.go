package exact

import (
	"cmp"
	"slices"
	"sort"
)

// lockHolds are the grants of one lock in their order.
type lockHolds struct {
	holds   []*hold
	byToken bool
	answers []*hold // by answer
}

// oldToNew calls ask for every grant, after add was called for all certainly older
// ones. Newer ones of its own worker may have been added, too: nobody asks for them.
func (l *lockHolds) oldToNew(add, ask func(*hold)) {
	if l.byToken {
		for _, h := range l.holds {
			ask(h)
			add(h)
		}
		return
	}
	done := 0
	for _, h := range l.holds {
		for ; done < len(l.answers) && l.answers[done].Return < h.Invoke; done++ {
			add(l.answers[done])
		}
		ask(h)
	}
}

// newToOld calls ask for every grant, after add was called for all certainly newer ones.
func (l *lockHolds) newToOld(add, ask func(*hold)) {
	if l.byToken {
		for _, h := range slices.Backward(l.holds) {
			ask(h)
			add(h)
		}
		return
	}
	left := len(l.holds)
	for _, h := range slices.Backward(l.answers) {
		for ; left > 0 && l.holds[left-1].Invoke > h.Return; left-- {
			add(l.holds[left-1])
		}
		ask(h)
	}
}

func (l *lockHolds) sortAnswers() {
	l.answers = slices.SortedStableFunc(slices.Values(l.holds), func(a, b *hold) int { return cmp.Compare(a.Return, b.Return) })
}

// answeredFrom is the place in answers of the first grant that was answered at or
// after t.
func (l *lockHolds) answeredFrom(t int64) int {
	return sort.Search(len(l.answers), func(k int) bool { return l.answers[k].Return >= t })
}
