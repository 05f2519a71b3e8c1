package checker

import (
	"context"
	"slices"
	"strings"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// liveGrant judges what was answered ok for a lease that had ended. Of a worker that was
// stopped meanwhile it is only reported: the answer waited for it, and any client reads
// it then. The others are told first.
func liveGrant(ctx context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.LiveGrant(ctx, l)
	r := ofGrants(LiveGrant, found.Checked, len(found.Dead))
	if found.Undecided && r.Verdict == Valid {
		r.Verdict, r.Checked, r.Why = Unknown, max(r.Checked, 1), "too many overlapping acquires, or renewals of grants that had passed on, for the time limit"
	}
	if margin, known := found.Margin.Get(); known {
		r.MarginNS = &margin
	}
	awake, asleep := byStops(l.Book().History, found.Dead)
	if len(awake) == 0 && len(asleep) > 0 {
		r.Role = Report
	}
	told := slices.Concat(awake, asleep)
	for _, d := range told[:min(len(told), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.LiveGrant(l, d))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}

// byStops parts the answers to workers that may have been stopped, or their messages held
// back, while they waited for them.
func byStops(h *histories.History, dead []exact.DeadGrant) (awake, asleep []exact.DeadGrant) {
	if len(dead) == 0 {
		return nil, nil
	}
	stops := findHolds(h)
	for _, d := range dead {
		o := &h.Ops[d.Op]
		if stops.any(o.Process, o.Invoke, o.Return) {
			asleep = append(asleep, d)
		} else {
			awake = append(awake, d)
		}
	}
	return awake, asleep
}

// holdUps are the times, by worker, in which it may have been stopped or its messages
// held back: also where that is not certain (model.Book.Stops has the certain ones), since
// here it is an excuse.
type holdUps map[string][]heldUp

type heldUp struct {
	from, to int64
	reach    int64 // the latest end of this one and all before it
}

// Functions of the nemesis beside histories.Pause that hold a worker up.
const (
	fHold   = histories.F("hold")
	fFreeze = histories.F("freeze")
)

// findHolds: each lasts until the nemesis does something else to the worker.
func findHolds(h *histories.History) holdUps {
	all, open := holdUps{}, map[string]bool{}
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Process != histories.Nemesis || o.Type == histories.Fail {
			continue
		}
		begins := o.F == histories.Pause || o.F == fHold || o.F == fFreeze
		worker := aim(o)
		list := all[worker]
		switch {
		case begins && !open[worker]:
			open[worker] = true
			all[worker] = append(list, heldUp{from: o.Invoke, to: histories.Never})
		case !begins && open[worker]:
			open[worker] = false
			list[len(list)-1].to = o.Return
		}
	}
	for _, list := range all {
		for k := range list {
			if list[k].reach = list[k].to; k > 0 {
				list[k].reach = max(list[k].to, list[k-1].reach)
			}
		}
	}
	return all
}

// aim is whom the nemesis meant: of a word that the text notation does not know, it is
// the first of the free text.
func aim(o *histories.Operation) string {
	if o.Target != "" {
		return o.Target
	}
	who, _, _ := strings.Cut(o.Text, " ")
	return who
}

// any tells whether one of them may overlap a span of time.
func (u holdUps) any(worker string, from, to int64) bool {
	list := u[worker]
	n, _ := slices.BinarySearchFunc(list, to, func(s heldUp, t int64) int {
		if s.from <= t {
			return -1
		}
		return 1
	})
	return n > 0 && list[n-1].reach >= from
}
