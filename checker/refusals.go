package checker

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// overFencing judges the refusals. It is a gate if the resource is said to fence: one
// that says that it does not may refuse for reasons of its own.
func overFencing(_ context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.OverFencing(l)
	r := ofGrants(OverFencing, found.Checked, len(found.Wrong))
	if l.Book().History.Header.Fence == histories.FenceOff {
		r.Role = Report
	}
	if d := found.Doubt; d != nil && r.Verdict == Valid {
		o := &l.Book().History.Ops[d.Op]
		r.Verdict, r.Checked = Unknown, max(r.Checked, 1)
		r.Why = fmt.Sprintf("worker %.40q, the newest holder, was refused by resource %.40q when its lease may have ended", o.Process, o.Resource)
	}
	if margin, known := found.Margin.Get(); known {
		r.MarginNS = &margin
	}
	for _, w := range found.Wrong[:min(len(found.Wrong), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.OverFencing(l, w))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}
