package model

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/histories"
)

// lockOrder holds the grants of one lock, sorted by token while tokens agree with
// real time, else by the acquire's invocation.
type lockOrder struct {
	grants []*Grant
	tokens bool // usable: every grant has one, and they agree with real time
}

// rank is what a grant knows of its neighbours in its lock's order.
type rank struct {
	order *lockOrder
	pos   int // place in order.grants
	newer int // no grant before this place is both certainly newer and parted from it
	// nested: without usable tokens, the grants of its own worker before this place are
	// nested with it.
	nested int
	// between is the earliest answer of another worker's grant that was asked for
	// after this one was answered; histories.Never if there is none.
	between int64
	// next is the earliest answer of another worker's grant that is parted from this
	// one and newer; histories.Never if there is none.
	next int64
}

// Older tells whether a certainly came before g: by token, as long as the tokens
// of the lock agree with real time; otherwise if a was answered before g was asked
// for, or one worker did both in this order.
func Older(a, g *Grant) bool {
	if a == g || a.place.order != g.place.order {
		return false
	}
	ta, _ := a.Token.Get()
	tg, _ := g.Token.Get()
	if a.place.order.tokens && ta != tg {
		return ta < tg
	}
	return before(a, g)
}

func before(a, g *Grant) bool {
	return a.Return < g.Invoke || a.Worker == g.Worker && a.Acquire < g.Acquire
}

// Parted tells whether a is the older grant and nothing may be done under it once
// something was done under g. It is Older but for two exceptions:
//
//   - Grants of one worker are nested, and count as one (re-entry), unless another
//     worker's grant lies certainly between them. A release between does not part
//     them: whoever held the lock twice in a row had no rival to be stale against.
//   - Grants of one worker with one token count as one: no fence can tell them
//     apart.
func Parted(a, g *Grant) bool {
	if a == g || a.place.order != g.place.order {
		return false
	}
	if a.place.order.tokens {
		// Equal tokens are one worker's here and stand side by side, so the first
		// grant of another worker after a has a larger token; whatever comes later
		// has it between, if it is a's own.
		return g.place.pos >= a.place.newer
	}
	if a.Worker != g.Worker {
		return a.Return < g.Invoke
	}
	return a.Acquire < g.Acquire && a.place.between < g.Invoke && !sameToken(a, g)
}

func sameToken(a, g *Grant) bool { return a.Token.Known() && a.Token == g.Token }

// Between finds a grant of another worker that lies certainly between two grants
// of one worker, nil if there is none.
func (b *Book) Between(a, g *Grant) *Grant {
	for _, o := range a.place.order.grants {
		if o.Worker != a.Worker && Older(a, o) && Older(o, g) {
			return o
		}
	}
	return nil
}

func (b *Book) sortGrants() {
	b.orders = map[string]*lockOrder{}
	for _, g := range b.Grants {
		o := b.orders[g.Lock]
		if o == nil {
			o = &lockOrder{}
			b.orders[g.Lock] = o
		}
		g.place.order = o
		o.grants = append(o.grants, g)
	}
	for _, o := range b.orders {
		o.tokens = o.agree()
		o.sort()
	}
}

// agree tells whether tokens are usable as the order of grants: every grant has
// one, no two workers share one, and none is smaller than one that came certainly
// before.
func (o *lockOrder) agree() bool {
	owner := map[int64]string{}
	top := map[string]int64{} // by worker: the largest token so far
	for _, g := range o.grants {
		token, known := g.Token.Get()
		if !known {
			return false
		}
		if w, taken := owner[token]; taken && w != g.Worker {
			return false
		}
		if last, ok := top[g.Worker]; ok && token < last {
			return false
		}
		owner[token], top[g.Worker] = g.Worker, token
	}
	byReturn := slices.Clone(o.grants)
	slices.SortStableFunc(byReturn, func(a, g *Grant) int { return cmp.Compare(a.Return, g.Return) })
	done, largest := 0, int64(0)
	for _, g := range o.grants { // by invocation
		for ; done < len(byReturn) && byReturn[done].Return < g.Invoke; done++ {
			if token := byReturn[done].Token.Or(0); done == 0 || token > largest {
				largest = token
			}
		}
		if done > 0 && g.Token.Or(0) < largest {
			return false
		}
	}
	return true
}

// sort expects the grants by invocation, as the history has them.
func (o *lockOrder) sort() {
	o.fillBetween()
	if o.tokens {
		slices.SortStableFunc(o.grants, func(a, g *Grant) int { return cmp.Compare(a.Token.Or(0), g.Token.Or(0)) })
	}
	o.fillNext()
	n := len(o.grants)
	rival := n // the first place after i that is of another worker than place i
	for i := n - 1; i >= 0; i-- {
		g := o.grants[i]
		if i+1 < n && o.grants[i+1].Worker != g.Worker {
			rival = i + 1
		}
		g.place.pos, g.place.newer = i, rival
		if !o.tokens {
			g.place.newer = sort.Search(n, func(k int) bool { return o.grants[k].Invoke > g.Return })
			g.place.nested = sort.Search(n, func(k int) bool { return o.grants[k].Invoke > g.place.between })
		}
	}
}

// fillBetween walks from the last invocation to the first and keeps the earliest
// answer of all grants passed, and the earliest one of other workers than that.
func (o *lockOrder) fillBetween() {
	n := len(o.grants)
	best := make([]earliest, n+1)
	best[n] = earliest{first: histories.Never, second: histories.Never}
	for i := n - 1; i >= 0; i-- {
		best[i] = best[i+1].with(o.grants[i])
	}
	for _, g := range o.grants {
		from := sort.Search(n, func(k int) bool { return o.grants[k].Invoke > g.Return })
		g.place.between = best[from].butFor(g.Worker)
	}
}

// fillNext expects the grants in their order.
func (o *lockOrder) fillNext() {
	later := earliest{first: histories.Never, second: histories.Never}
	for i := len(o.grants) - 1; i >= 0; i-- {
		g := o.grants[i]
		g.place.next = g.place.between
		if o.tokens { // whatever is newer and another worker's is parted
			g.place.next = later.butFor(g.Worker)
		}
		later = later.with(g)
	}
}

// Succeeded is when another worker was certainly granted the lock after g: the
// earliest answer of a newer grant. It is histories.Never if there is none.
func (g *Grant) Succeeded() int64 { return g.place.next }

// earliest is the earliest answer of some grants, and the earliest one of other
// workers than the one whose answer that is.
type earliest struct {
	first, second int64
	worker        string
}

func (e earliest) with(g *Grant) earliest {
	switch {
	case g.Worker == e.worker:
		e.first = min(e.first, g.Return)
	case g.Return < e.first:
		e = earliest{first: g.Return, second: e.first, worker: g.Worker}
	default:
		e.second = min(e.second, g.Return)
	}
	return e
}

func (e earliest) butFor(worker string) int64 {
	if e.worker == worker {
		return e.second
	}
	return e.first
}
