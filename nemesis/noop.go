package nemesis

import "context"

// Noop breaks nothing. It is the template for a fault, and the control that a run
// without any fault proves nothing.
type Noop struct{}

var _ Fault = Noop{}

// Name is "noop".
func (Noop) Name() string { return "noop" }

// Inject does nothing.
func (Noop) Inject(context.Context, Recorder) error { return nil }

// Undo does nothing.
func (Noop) Undo(context.Context, Recorder) error { return nil }
