package nemesis

import (
	"context"

	"github.com/leasehold-checker/leasehold/histories"
)

// SessionKill ends the store's session that a worker's lease hangs on, as an operator
// or a failover would. It is the fault for locks that never end by time: a holder
// that is merely stopped keeps those for ever, because its kernel goes on answering.
type SessionKill struct {
	Worker string
	Kill   func(ctx context.Context) error
}

var _ Fault = (*SessionKill)(nil)

// Name is "session-kill".
func (*SessionKill) Name() string { return "session-kill" }

// Inject ends the session and returns when the store has confirmed it.
func (s *SessionKill) Inject(ctx context.Context, r Recorder) error {
	op := histories.Operation{F: histories.KillSession, Target: s.Worker}
	return record(r, op, func() error { return s.Kill(ctx) })
}

// Undo does nothing: a session that has ended does not come back.
func (*SessionKill) Undo(context.Context, Recorder) error { return nil }
