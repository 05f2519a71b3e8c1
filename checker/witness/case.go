package witness

import (
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// Case is a violation found, before it is told.
type Case struct {
	Resource *model.Resource
	Core     []int // operations that are illegal by themselves: places in History.Ops, ascending

	kind  kind
	late  int // the operation of the older grant; -1 if there is no such thing
	touch int // the operation of the newer grant that the late one contradicts
	base  int // lost update: the read that came too early; else -1
	lost  int // lost update: the acknowledged write that is gone; else -1
	write int // lost update: the write that overwrote it; else -1
	older *model.Grant
	newer *model.Grant
}

type kind int

const (
	stale        kind = iota // an operation of an older grant after one of a newer
	lost                     // an acknowledged write overwritten unseen
	orphan                   // a read of a value that nobody wrote
	searchStale              // stale-write: no order of the core, as Porcupine says
	searchLost               // lost-update: the same
	searchUnseen             // lost-update: the values read can be explained, but not without overwriting unseen
)

// Stale is the case of a stale operation and the first newer one that made it so. If
// it overwrote an acknowledged write of a newer grant unseen, it tells of that, too.
func Stale(b *model.Book, r *model.Resource, late, newer int, losses []model.LostWrite) Case {
	c := Case{Resource: r, kind: stale, late: late, touch: newer, base: -1, lost: -1, write: -1}
	for _, l := range losses {
		if g := b.Own(l.Lost); l.Write == late && g != nil && model.Parted(b.Own(late), g) {
			c.base, c.lost, c.write = l.Base, l.Lost, late
			break
		}
	}
	c.Core = sorted(c.late, c.touch)
	c.older, c.newer = b.Own(c.late), b.Own(c.touch)
	return c
}

// Lost is the case of an acknowledged write that was overwritten unseen. Either the
// older holder came too late with its write, or the newer one had read too early.
func Lost(b *model.Book, r *model.Resource, l model.LostWrite) Case {
	c := Case{
		Resource: r, kind: lost, Core: sorted(l.Base, l.Lost, l.Write),
		late: l.Write, touch: l.Lost, base: l.Base, lost: l.Lost, write: l.Write,
	}
	c.older, c.newer = b.Under(l.Write), b.Own(l.Lost)
	if c.older != nil && c.newer != nil && model.Parted(c.newer, c.older) {
		c.late, c.touch = l.Lost, l.Write
		c.older, c.newer = c.newer, c.older
	}
	return c
}

// Orphan is the case of a read of a value that nobody wrote.
func Orphan(r *model.Resource, read int) Case {
	return Case{Resource: r, kind: orphan, Core: []int{read}, late: -1, touch: -1, base: -1, lost: -1, write: -1}
}

// SearchedStale is the case of operations of which every order goes back to an older
// grant (see [Shrink]).
func SearchedStale(r *model.Resource, core []int) Case { return searched(r, core, searchStale) }

// SearchedLost is the case of operations that no order explains (see [Shrink]); or, if
// it is unseen, none in which no acknowledged write is overwritten unseen.
func SearchedLost(r *model.Resource, core []int, unseen bool) Case {
	if unseen {
		return searched(r, core, searchUnseen)
	}
	return searched(r, core, searchLost)
}

func searched(r *model.Resource, core []int, k kind) Case {
	return Case{Resource: r, kind: k, Core: core, late: -1, touch: -1, base: -1, lost: -1, write: -1}
}

// ordered tells whether there is an older and a newer holder at all.
func (c *Case) ordered() bool {
	return c.older != nil && c.newer != nil && model.Parted(c.older, c.newer)
}

func sorted(list ...int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}
