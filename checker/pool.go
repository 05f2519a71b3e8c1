package checker

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// pool is a list of jobs that are done side by side, on as many goroutines as there
// are processors. Each job writes to a place of its own, so that what comes out
// does not depend on who is first.
type pool struct {
	jobs []func() error
	errs []error
}

func (p *pool) add(job func() error) { p.jobs = append(p.jobs, job) }

// run does all jobs, also after one that fails. The error joins theirs, in the order
// in which they were added.
func (p *pool) run() error {
	p.errs = make([]error, len(p.jobs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(p.jobs), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				p.errs[i] = safely(p.jobs[i])
			}
		})
	}
	for i := range p.jobs {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(p.errs...)
}

// safely makes a panic an error: it must not take the program down before the history
// is saved, and a goroutine's panic can be caught nowhere else.
func safely(job func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s: %w", r, debug.Stack(), ErrFault)
		}
	}()
	return job()
}
