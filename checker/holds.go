package checker

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/witness"
)

// hold judges whether guarded operations happened inside a hold of their worker.
func hold(_ context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.Hold(l)
	r := ofGrants(Hold, found.Checked, len(found.Outside))
	if d := found.Doubt; d != nil && r.Verdict == Valid {
		o := &l.Book().History.Ops[d.Op]
		r.Verdict, r.Checked = Unknown, max(r.Checked, 1)
		r.Why = fmt.Sprintf("worker %.40q may have acted on resource %.40q outside its hold: %s", o.Process, o.Resource, holdDoubt(d))
	}
	for _, x := range found.Outside[:min(len(found.Outside), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.Hold(l, x))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}

func holdDoubt(d *exact.Outside) string {
	if d.Fault == exact.Released && d.Release < 0 {
		return "the release before it has no answer"
	}
	return "its operation has no answer"
}
