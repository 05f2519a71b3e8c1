// Package point carries the nemesis' hook to the code points of a worker's
// critical section, through a context: lock and resource clients pass points of
// their own (the token drawn in a second step, the request sent) and need not
// know who listens.
package point

import (
	"context"

	"github.com/leasehold-checker/leasehold/histories"
)

type key struct{}

// With returns a context in which [Reach] calls hook. The hook may stop the
// process, or block.
func With(ctx context.Context, hook func(histories.Point)) context.Context {
	return context.WithValue(ctx, key{}, hook)
}

// Reach tells the hook of ctx, if there is one, that the code point p was reached.
func Reach(ctx context.Context, p histories.Point) {
	if hook, ok := ctx.Value(key{}).(func(histories.Point)); ok {
		hook(p)
	}
}
