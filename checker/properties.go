package checker

import (
	"context"
	"fmt"
	"sync"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// grantJudge judges one property of the grants: one that is decided lock by lock,
// by what was promised and when it ended, and not resource by resource.
type grantJudge struct {
	property Property
	// judge has until ctx ends. Its error is ErrDisagree: a violation that the plainly
	// written rule does not confirm.
	judge func(ctx context.Context, l *exact.Ledger) (PropertyResult, error)
}

// ofGrantsAll are the properties of the grants, in the order in which a Result has
// them after the two of the resources: exclusion, token-order, over-fencing, hold,
// live-grant, belief, progress.
func ofGrantsAll() []grantJudge {
	return []grantJudge{
		{Exclusion, exclusion},
		{TokenOrder, tokenOrder},
		{OverFencing, overFencing},
		{Hold, hold},
		{LiveGrant, liveGrant},
		{Belief, belief},
		{Progress, progress},
	}
}

// applies tells whether a history has what the property is about. A property that
// does not apply is absent from the Result, not valid.
func (p Property) applies(h *histories.Header) bool {
	return p != TokenOrder || h.Tokens != histories.TokensNone
}

// properties lists everything that a history is judged on, in the order of a Result.
func properties(h *histories.Header) []Property {
	list := []Property{StaleWrite, LostUpdate}
	for _, j := range ofGrantsAll() {
		if j.property.applies(h) {
			list = append(list, j.property)
		}
	}
	return list
}

// judgeGrants adds a job for each of the grants' properties, and returns where their
// results will be, in the order of the list. The ledger that they share is made by
// whichever job comes first.
func (p *pool) judgeGrants(ctx context.Context, b *model.Book) []*PropertyResult {
	var results []*PropertyResult
	ledger := sync.OnceValue(func() *exact.Ledger { return exact.NewLedger(b) })
	for _, j := range ofGrantsAll() {
		if !j.property.applies(&b.History.Header) {
			continue
		}
		r := &PropertyResult{}
		results = append(results, r)
		p.add(func() (err error) {
			if *r, err = j.judge(ctx, ledger()); err != nil {
				return fmt.Errorf("judge %s: %w", j.property, err)
			}
			return nil
		})
	}
	return results
}
