package checker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// ErrFault says that the checker itself is at fault: [ErrDisagree], [ErrCertificate],
// or a panic. There is no verdict then; whoever gets it should save the history.
var ErrFault = model.ErrFault

// ErrDisagree says that two judges contradict each other, where each has proof.
var ErrDisagree = fmt.Errorf("two judges disagree: %w", ErrFault)

// ErrCertificate says that the proof of a verdict does not hold.
var ErrCertificate = model.ErrCertificate

// ErrUnknownGrant says that an operation names a grant that its worker never named
// on an acquire: malformed input, with file and line.
var ErrUnknownGrant = model.ErrUnknownGrant

// DefaultTimeout is the time limit of Check for one history.
const DefaultTimeout = time.Minute

// grace is what the scans and the counts may take after the time limit: they are
// nearly linear, and say what was found out until then.
const grace = 500 * time.Millisecond

// Options of Check. The zero value is the default.
type Options struct {
	Timeout time.Duration // for the whole history; 0: DefaultTimeout
}

// Check judges a history. What cannot be decided within the time limit (or a fixed
// amount of memory) is Unknown; a context that ends early is an error.
//
// A history that is not well formed is an error with file and line, never a verdict;
// a fault of the checker ([ErrFault]) is one, too.
// The result depends on the history alone, not on the number of cores, as long as
// the time limit is not reached.
func Check(ctx context.Context, h *histories.History, o Options) (Result, error) {
	var r Result
	err := safely(func() (err error) {
		r, err = check(ctx, h, cmp.Or(o.Timeout, DefaultTimeout))
		return err
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	return r, nil
}

func check(ctx context.Context, h *histories.History, limit time.Duration) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	late, cancelLate := context.WithTimeout(ctx, limit+grace)
	defer cancelLate()
	if err := histories.Validate(h); err != nil {
		return Result{}, err
	}
	b, err := model.Resolve(h)
	if err != nil {
		return Result{}, err
	}
	if late.Err() != nil {
		return overdue(h), nil
	}
	work := &pool{}
	findings := work.judgeResources(limited, late, b)
	ofGrants := work.judgeGrants(limited, b)
	if err := work.run(); err != nil {
		return Result{}, err
	}
	r := Result{Version: ResultVersion, Warnings: h.Warnings}
	counted := false
	r.Coverage, counted = cover(late, b, findings)
	r.Properties = []PropertyResult{sumUp(b, StaleWrite, findings), sumUp(b, LostUpdate, findings)}
	for _, p := range ofGrants {
		r.Properties = append(r.Properties, *p)
	}
	r.Verdict, r.Why = verdict(&r)
	if !counted && r.Verdict == Valid {
		r.Verdict, r.Why = Unknown, "the trials could not all be counted within the time limit"
	}
	return r, nil
}

// overdue is the result where the time limit passed before anything could be judged.
func overdue(h *histories.History) Result {
	const why = "the time limit passed before anything could be judged"
	r := Result{Version: ResultVersion, Verdict: Unknown, Why: why, Warnings: h.Warnings}
	r.Coverage = Coverage{Operations: map[histories.F]int{}, Faults: map[histories.F]int{}}
	for _, p := range properties(&h.Header) {
		r.Properties = append(r.Properties, PropertyResult{Property: p, Verdict: Unknown, Role: p.role(), Checked: 1, Why: why})
	}
	return r
}

// judgeResources adds a job for each resource, and returns where the findings will be.
func (p *pool) judgeResources(ctx, scans context.Context, b *model.Book) []finding {
	resources := b.Resources()
	findings := make([]finding, len(resources))
	c := court{scans: scans, turns: newTurns()}
	for i, r := range resources {
		p.add(func() (err error) {
			findings[i], err = c.judge(ctx, r, i < maxAudits)
			return err
		})
	}
	return findings
}

// verdict is the worst of the gate properties that had a case to judge. To be valid it
// takes a case that needs two workers: a single one that locks and unlocks shows that
// its own operations lie inside its hold, which is no evidence about a lock.
func verdict(r *Result) (v Verdict, why string) {
	v = Valid
	judged := false
	for i := range r.Properties {
		p := &r.Properties[i]
		if p.Role != Gate || p.Checked == 0 {
			continue
		}
		judged = judged || p.Property != Hold && p.Property != LiveGrant
		if Worst(v, p.Verdict) != v {
			v, why = p.Verdict, fmt.Sprintf("%s: %s", p.Property, p.Why)
		}
	}
	switch {
	case v == Invalid:
		return v, ""
	case !judged && r.Coverage.Workers == 0:
		return Unknown, "nothing to judge: no worker did anything"
	case !judged:
		return Unknown, "nothing to judge: no resource was touched under two grants, no write followed a read under one grant, and no lock was granted to two workers"
	case v == Valid:
		return v, ""
	}
	return v, why
}
