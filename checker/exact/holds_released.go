package exact

import "sort"

// kin are the grants of one worker on one lock with one token, in the order in which
// they were asked for: they count as one. Most grants are alone.
type kin []kinGrant

// kinGrant is where a grant begins and ends: places in History.Ops. But for acquire,
// each is the largest of this grant and those before it: the kin is held as long as
// any of them.
type kinGrant struct {
	acquire int
	ok      int // the first release of it that was answered ok; none if there is no such
	first   int // the first one that was answered ok, or not at all
}

// givenBack tells about a moment between two operations of the worker, the latter of
// which is operation i: the release that ended the last of the grants asked for by
// then (-1 if one is held), or that it may have been given back.
func (k *kin) givenBack(i int) (release int, maybe bool) {
	n := sort.Search(len(*k), func(n int) bool { return (*k)[n].acquire > i })
	switch last := &(*k)[n-1]; {
	case last.ok < i:
		return last.ok, false
	default:
		return -1, last.first < i
	}
}

// joinKin expects one worker's grants of one lock.
func (j *guards) joinKin(own []*hold) {
	byToken := map[int64]*kin{}
	for i, first := range j.firstReleases(own) {
		h := own[i]
		token, known := h.Token.Get()
		k := byToken[token]
		if k == nil || !known {
			k = &kin{}
		}
		if known {
			byToken[token] = k
		}
		one := kinGrant{acquire: h.Acquire, ok: first.ok, first: min(first.ok, first.maybe)}
		if n := len(*k); n > 0 {
			one.ok, one.first = max(one.ok, (*k)[n-1].ok), max(one.first, (*k)[n-1].first)
		}
		*k = append(*k, one)
		j.kin[h] = k
	}
}

// firstRelease is the first release of a grant that was answered ok, and the first
// one that was not answered: places in History.Ops; none if there is no such. An
// unanswered release may end only the grant that it names.
type firstRelease struct{ ok, maybe int }

// firstReleases expects one worker's grants of one lock.
func (l *Ledger) firstReleases(own []*hold) []firstRelease {
	first := make([]firstRelease, len(own))
	for i, h := range own {
		first[i] = firstRelease{none, none}
		if gone := h.promises[0].gone; gone >= 0 {
			first[i].ok = gone
		}
	}
	for _, r := range l.releases[holder{own[0].Worker, own[0].Lock}] {
		if f := &first[r.hold.index]; !r.ok {
			f.maybe = min(f.maybe, r.op)
		}
	}
	return first
}

// GivenBack are the grants that count as one with that of an operation, as far as they
// were asked for before it, and the first release of each that was answered ok. Places
// in History.Ops.
func (l *Ledger) GivenBack(op int) []int {
	g := l.book.Own(op)
	own := l.own[holder{g.Worker, g.Lock}]
	var list []int
	for i, first := range l.firstReleases(own) {
		if h := own[i]; h.Acquire < op && (h.Grant == g || sameToken(h.Grant, g)) && first.ok < op {
			list = append(list, h.Acquire, first.ok)
		}
	}
	return list
}
