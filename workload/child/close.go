//go:build linux

package child

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

const (
	closeLimit = 10 * time.Second      // for a child to end by itself, where the context sets no limit
	termLimit  = 2 * time.Second       // between SIGTERM and SIGKILL
	killLimit  = 5 * time.Second       // for the kernel to end a killed process
	contEvery  = 20 * time.Millisecond // a child that stops itself while it is being closed is continued
)

// Close ends the child and returns how it ended (see Err). It continues the child,
// asks it to stop by closing its commands, and waits until ctx ends (ten seconds
// if it never does); then come SIGTERM, two seconds, and SIGKILL. Further calls
// wait for the first and return the same.
func (p *Process) Close(ctx context.Context) error {
	p.closeOnce.Do(func() {
		p.closeErr = p.end(ctx)
		close(p.closed)
	})
	<-p.closed
	return p.closeErr
}

func (p *Process) end(ctx context.Context) error {
	p.stopCommands()
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeLimit)
		defer cancel()
	}
	if awaitEnd(p, ctx.Done()) {
		return p.err
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if awaitEnd(p, time.After(termLimit)) {
		return p.err
	}
	p.cmd.Process.Kill()
	if awaitEnd(p, time.After(killLimit)) {
		return p.err
	}
	return fmt.Errorf("close child %s (pid %d): %w", p.name, p.PID(), errors.New("killed, but still there"))
}

// awaitEnd waits for the child's end until limit is closed or gives a value, and
// meanwhile keeps it from standing still: an armed child may stop itself at any
// later moment.
func awaitEnd[T any](p *Process, limit <-chan T) bool {
	ticker := time.NewTicker(contEvery)
	defer ticker.Stop()
	for {
		p.cmd.Process.Signal(syscall.SIGCONT) // an error means that it has ended
		select {
		case <-p.done:
			return true
		case <-limit:
			return false
		case <-ticker.C:
		}
	}
}
