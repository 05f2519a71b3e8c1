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
	if err := histories.Validate(h); err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, DefaultTimeout))
	defer cancel()
	findings, err := judgeAll(limited, b)
	if err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("check history: %w", err)
	}
	r := Result{Version: ResultVersion, Coverage: cover(b, findings), Warnings: h.Warnings}
	r.Properties = []PropertyResult{sumUp(b, StaleWrite, findings), sumUp(b, LostUpdate, findings)}
	r.Verdict, r.Why = verdict(&r, h)
	return r, nil
}

// judgeAll judges the resources on as many goroutines as there are processors.
func judgeAll(ctx context.Context, b *model.Book) ([]finding, error) {
	resources := b.Resources()
	findings, errs := make([]finding, len(resources)), make([]error, len(resources))
	work := make(chan int)
	var pool sync.WaitGroup
	for range min(len(resources), runtime.GOMAXPROCS(0)) {
		pool.Go(func() {
			for i := range work {
				findings[i], errs[i] = judge(ctx, b, resources[i])
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
func verdict(r *Result, h *histories.History) (v Verdict, why string) {
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
		return Unknown, "nothing to judge: no resource was touched under two grants, and no write followed a read under one grant"
	case v != Unknown:
		return v, ""
	}
	return v, why
}
