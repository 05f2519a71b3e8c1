package resource

import "context"

type lockKey struct{}

// WithKey returns a context that says under which key of the lock store the caller
// holds its lease (lock.Keyed). A resource that lives in that store can require the
// key in the write's own transaction, so that guard and data are one step.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, lockKey{}, key)
}

// Key returns the key of ctx, if it has one.
func Key(ctx context.Context) (key string, ok bool) {
	key, ok = ctx.Value(lockKey{}).(string)
	return key, ok
}
