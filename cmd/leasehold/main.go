// Command leasehold finds out whether a paused lock holder can still hurt the data
// that its lock protects, on real lock stores, and keeps it that way in CI.
//
// See the README for a tour, and leasehold help for the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/leasehold-checker/leasehold/checker/report"
)

func main() { os.Exit(run()) }

func run() (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "leasehold: internal error: %v\n%s", r, debug.Stack())
			code = exitInternal
		}
	}()
	if role := childRole(); role != "" {
		return serve(role)
	}
	ctx, stop := interruptible()
	defer stop()
	root := newRoot()
	if err := root.ExecuteContext(ctx); err != nil {
		code := exitCode(err)
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintln(os.Stderr, "leasehold: "+report.Clean(strings.TrimSuffix(line, "\n")))
		}
		if code == exitUsage {
			fmt.Fprintln(os.Stderr, "Try: leasehold help")
		}
		return code
	}
	return exitOK
}

// The causes with which the context of a command ends.
var (
	errInterrupted = errors.New("interrupted (SIGINT)")
	errTerminated  = errors.New("terminated (SIGTERM)")
)

// interruptible is a context that the first SIGINT or SIGTERM ends. The second one
// ends the process at once: the kernel then kills every child, stopped or not.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		cause, code := errInterrupted, exitInterrupted
		if <-signals != os.Interrupt { // SIGHUP, a closed terminal, wants us gone as well
			cause, code = errTerminated, exitTerminated
		}
		fmt.Fprintf(os.Stderr, "leasehold: %v: healing, and collecting what there is; once more to stop at once\n", cause)
		cancel(cause)
		<-signals
		os.Exit(code)
	}()
	return ctx, func() { cancel(nil) }
}
