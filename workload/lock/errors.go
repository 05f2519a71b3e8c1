package lock

import (
	"context"
	"errors"
)

// definite marks an error as a definite no.
type definite struct {
	word string
	err  error
}

func (e *definite) Error() string { return e.word + ": " + e.err.Error() }
func (e *definite) Unwrap() error { return e.err }

// Definite marks err as a definite no: what was asked for did not happen and will
// not. word is the word for the history (histories.ErrHeld, ErrLost, ...). An
// error without the mark is indefinite: it may have happened. So says
// Maelstrom's protocol, and so does this tool.
func Definite(word string, err error) error { return &definite{word, err} }

// IsDefinite tells whether err is marked as a definite no, and with which word.
func IsDefinite(err error) (word string, ok bool) {
	var d *definite
	if errors.As(err, &d) {
		return d.word, true
	}
	return "", false
}

// Unsettled is an acquire that may hold the lock, now or later, until Settle has
// made sure that it does not.
type Unsettled struct {
	Err error
	// Settle ends whatever the attempt left behind (a queued key, a lease). Its
	// error is that of a release: nil and Definite mean that nothing is left.
	Settle func(context.Context) error
}

func (e *Unsettled) Error() string { return "acquire unsettled: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unsettled) Unwrap() error { return e.Err }
