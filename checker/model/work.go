package model

import "context"

// work is something that may take long: it looks at its context now and then.
type work struct {
	ctx  context.Context
	n    int
	over bool
}

// done counts a step, and tells whether the context has ended.
func (w *work) done() bool {
	const every = 256
	if w.n++; w.n%every == 0 && w.ctx.Err() != nil {
		w.over = true
	}
	return w.over
}
