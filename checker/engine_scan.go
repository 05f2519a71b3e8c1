package checker

import (
	"context"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// scan is the plainest engine: two operations in the wrong order by the history's
// own word, an update lost between its base and the write based on it, a value that
// nobody wrote. It can find a violation, never an order. Nearly all violations in
// practice are such, and what it finds is what is counted.
type scan struct {
	r       *model.Resource
	stale   []int // accepted stale operations: places in History.Ops
	lost    []model.LostWrite
	orphans []int // reads: places in History.Ops
}

// newScan has until ctx ends: after that it has found less than there is.
func newScan(ctx context.Context, r *model.Resource) scan {
	return scan{r: r, stale: r.StaleOperations(false), lost: r.LostWrites(ctx), orphans: r.Orphans()}
}

func (e scan) name() string { return "the scans" }

func (e scan) decide(_ context.Context, q model.Question) model.Decision {
	core := e.core(q)
	if core == nil {
		return model.Decision{}
	}
	slices.Sort(core)
	return model.Decision{Answer: model.Illegal, Core: e.r.Closed(q, indices(e.r, core))}
}

// core is a violation of the question's rules; nil if none was found.
func (e scan) core(q model.Question) []int {
	switch {
	case q.Grants && q.SeqOnly:
		if late := e.r.StaleOperations(true); len(late) > 0 {
			return []int{late[0], e.r.FirstNewer(late[0], true)}
		}
	case q.Grants && len(e.stale) > 0:
		return []int{e.stale[0], e.r.FirstNewer(e.stale[0], false)}
	case q.Bases && len(e.lost) > 0:
		l := e.lost[0]
		return []int{l.Base, l.Lost, l.Write}
	}
	if q.Values && len(e.orphans) > 0 {
		return []int{e.orphans[0]}
	}
	return nil
}
