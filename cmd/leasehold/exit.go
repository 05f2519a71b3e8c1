package main

import (
	"errors"

	"github.com/leasehold-checker/leasehold/checker"
)

// Every exit code of leasehold. 2 is also what the Go runtime exits with when a
// goroutine panics: neither is ever a success.
const (
	exitOK           = 0   // every cell met its expectation and its floors
	exitViolation    = 1   // a violation where none was expected
	exitInconclusive = 2   // unknown, a floor missed, an expected violation that did not show
	exitEnvironment  = 3   // a store, a resource or a worker did not start; cleaning up failed
	exitUsage        = 4   // usage, configuration, malformed input
	exitInternal     = 70  // a bug: a recovered panic, judges that disagree, a proof that does not hold
	exitInterrupted  = 130 // SIGINT
	exitTerminated   = 143 // SIGTERM
)

// verdictCode is the exit code of a verdict on a file.
func verdictCode(v checker.Verdict) int {
	switch v {
	case checker.Valid:
		return exitOK
	case checker.Invalid:
		return exitViolation
	}
	return exitInconclusive
}

// exit is an error that carries its exit code. A nil cause says nothing more than
// what was printed before.
type exit struct {
	code  int
	cause error
}

func (e *exit) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

func (e *exit) Unwrap() error { return e.cause }

// exitCode finds the code for an error of a command. An error without a code comes
// from the command line's own parser: usage.
func exitCode(err error) int {
	var e *exit
	switch {
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, checker.ErrFault):
		return exitInternal
	}
	return exitUsage
}

// withCode ends a command with the code, without a word if it is exitOK.
func withCode(code int, cause error) error {
	if code == exitOK && cause == nil {
		return nil
	}
	return &exit{code, cause}
}
