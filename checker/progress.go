package checker

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/checker/witness"
)

// progress judges whether locks pass on. It is a report: a lock that is slow breaks
// nothing.
func progress(_ context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.Progress(l)
	r := ofGrants(Progress, found.Checked, len(found.Stalls))
	if d := found.Doubt; d != nil && r.Verdict == Valid {
		r.Verdict, r.Checked = Unknown, max(r.Checked, 1)
		r.Why = fmt.Sprintf("worker %.40q waited %s for lock %.40q, and nobody is known to have held it, but %s",
			d.Worker, show.Seconds(d.To-d.From), d.Lock, d.Why)
	}
	if margin, known := found.Margin.Get(); known {
		r.MarginNS = &margin
	}
	for _, s := range found.Stalls[:min(len(found.Stalls), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.Progress(l, s))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}
