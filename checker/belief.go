package checker

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/checker/witness"
)

// belief judges what the clients told their workers. The earliest untrue answers are
// told.
func belief(ctx context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.Belief(ctx, l)
	r := ofGrants(Belief, found.Checked, len(found.Untrue))
	switch {
	case r.Verdict == Invalid:
	case found.Undecided:
		r.Verdict, r.Checked, r.Why = Unknown, max(r.Checked, 1), "too many grants to look through for the time limit"
	case found.Unsure > 0:
		r.Verdict, r.Checked = Unknown, max(r.Checked, 1)
		r.Why = fmt.Sprintf("%s that the lock is held could not be judged: the last promise was over, and no end of the lease is on record", show.Count(found.Unsure, "answer"))
	}
	if margin, known := found.Margin.Get(); known {
		r.MarginNS = &margin
	}
	for _, u := range found.Untrue[:min(len(found.Untrue), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.Belief(l, u))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}
