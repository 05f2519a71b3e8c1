package checker

import (
	"context"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/witness"
)

// exclusion judges the promises. The earliest breaches are told.
func exclusion(ctx context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.Exclusion(ctx, l)
	r := ofGrants(Exclusion, found.Checked, len(found.Breaches))
	if found.Undecided && r.Verdict == Valid {
		r.Verdict, r.Checked, r.Why = Unknown, max(r.Checked, 1), "too many overlapping acquires for the time limit"
	}
	if margin, known := found.Margin.Get(); known {
		r.MarginNS = &margin
	}
	for _, x := range found.Breaches[:min(len(found.Breaches), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.Exclusion(l.Book(), x))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}

// tokenOrder judges the tokens.
func tokenOrder(_ context.Context, l *exact.Ledger) (PropertyResult, error) {
	found := exact.TokenOrder(l.Book())
	r := ofGrants(TokenOrder, found.Checked, len(found.Faults))
	for _, f := range found.Faults[:min(len(found.Faults), maxWitnesses)] {
		r.Witnesses = append(r.Witnesses, witness.TokenOrder(l.Book(), f))
	}
	r.Cause = cause(r.Witnesses)
	return r, confirmPlainly(l, &r)
}

func ofGrants(p Property, checked, violations int) PropertyResult {
	r := PropertyResult{Property: p, Verdict: Valid, Role: p.role(), Checked: checked, Violations: violations}
	if violations > 0 {
		r.Verdict = Invalid
	}
	return r
}
