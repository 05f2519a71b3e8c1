package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// ErrDisagree says that a direct proof of a violation and Porcupine's search
// contradict each other: a fault of the checker. There is no verdict then; whoever
// gets it should save the history.
var ErrDisagree = errors.New("the two judges disagree")

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
// A history that is not well formed is an error with file and line, never a verdict.
// The result depends on the history alone, not on the number of cores, as long as
// the time limit is not reached.
func Check(ctx context.Context, h *histories.History, o Options) (Result, error) {
	limit := cmp.Or(o.Timeout, DefaultTimeout)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	late, cancelLate := context.WithTimeout(ctx, limit+grace)
	defer cancelLate()
	if err := histories.Validate(h); err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	if late.Err() != nil && ctx.Err() == nil {
		return overdue(h), nil
	}
	findings, err := judgeAll(limited, late, b)
	if err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	r := Result{Version: ResultVersion, Warnings: h.Warnings}
	counted := false
	r.Coverage, counted = cover(late, b, findings)
	r.Properties = []PropertyResult{sumUp(b, StaleWrite, findings), sumUp(b, LostUpdate, findings), exclusion(limited, b)}
	if h.Header.Tokens != histories.TokensNone {
		r.Properties = append(r.Properties, tokenOrder(b))
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
	properties := []Property{StaleWrite, LostUpdate, Exclusion}
	if h.Header.Tokens != histories.TokensNone {
		properties = append(properties, TokenOrder)
	}
	for _, p := range properties {
		r.Properties = append(r.Properties, PropertyResult{Property: p, Verdict: Unknown, Role: Gate, Checked: 1, Why: why})
	}
	return r
}

// judgeAll judges the resources on as many goroutines as there are processors.
func judgeAll(ctx, scans context.Context, b *model.Book) ([]finding, error) {
	resources := b.Resources()
	findings, errs := make([]finding, len(resources)), make([]error, len(resources))
	work := make(chan int)
	var pool sync.WaitGroup
	for range min(len(resources), runtime.GOMAXPROCS(0)) {
		pool.Go(func() {
			for i := range work {
				findings[i], errs[i] = judge(ctx, scans, resources[i])
			}
		})
	}
	for i := range resources {
		work <- i
	}
	close(work)
	pool.Wait()
	return findings, errors.Join(errs...)
}

// verdict is the worst of the gate properties that had a case to judge.
func verdict(r *Result) (v Verdict, why string) {
	v = Valid
	judged := false
	for i := range r.Properties {
		p := &r.Properties[i]
		if p.Role != Gate || p.Checked == 0 {
			continue
		}
		judged = true
		if Worst(v, p.Verdict) != v {
			v, why = p.Verdict, fmt.Sprintf("%s: %s", p.Property, p.Why)
		}
	}
	switch {
	case !judged && r.Coverage.Workers == 0:
		return Unknown, "nothing to judge: no worker did anything"
	case !judged:
		return Unknown, "nothing to judge: no resource was touched under two grants, no write followed a read under one grant, and no lock was granted to two workers"
	case v != Unknown:
		return v, ""
	}
	return v, why
}
