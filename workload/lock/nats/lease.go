package nats

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
)

// lease is one hold. Nobody renews it but we: the keeper does, as users do.
type lease struct {
	*attempt
	token  int64
	keeper *keeper.Keeper
}

var _ lock.Lease = (*lease)(nil)

// Token is the revision of the create.
func (l *lease) Token() (int64, bool) { return l.token, true }

// TTL is the age limit of the bucket.
func (l *lease) TTL() time.Duration { return l.ttl }

// Session is the value of the key.
func (l *lease) Session() string { return l.value }

// Held goes by the clock: a ttl since the last request that was granted was sent.
func (l *lease) Held() bool { return l.keeper.Held() }

// Lost is closed when a renewal is refused, or when none came through in time.
func (l *lease) Lost() <-chan struct{} { return l.keeper.Lost() }

// Ask asks whether the key has our value.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	found, err := l.look(ctx, l.key)
	if err != nil {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	return found.has(l.value), nil
}

// Release deletes the key if it has the revision that we left it with: one request,
// so that there is no between in which the process could be stopped. A renewal that is
// under way is not waited for; what it does to the revision, remove finds out.
func (l *lease) Release(ctx context.Context) error {
	l.keeper.Stop()
	return l.remove(ctx)
}
