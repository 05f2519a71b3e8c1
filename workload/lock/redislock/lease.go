package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
)

// lease is one hold.
type lease struct {
	lock   *redislock.Lock
	ttl    time.Duration
	keeper *keeper.Keeper
}

var _ lock.Lease = (*lease)(nil)

func newLease(l *Lock, held *redislock.Lock, sent time.Time, ttl time.Duration) *lease {
	made := &lease{lock: held, ttl: ttl}
	made.keeper = keeper.Start(l.open, keeper.Config{
		Session: held.Token(), TTL: ttl, Until: sent.Add(ttl), Listener: l.listener, Renew: made.refresh,
	})
	return made
}

// Token: the library issues none in this version.
func (l *lease) Token() (int64, bool) { return 0, false }

// TTL is the PX that was set.
func (l *lease) TTL() time.Duration { return l.ttl }

// Session is the random value that the library calls token.
func (l *lease) Session() string { return l.lock.Token() }

// Held goes by the clock: a ttl since the last request that was granted was sent. The
// library has no opinion without asking.
func (l *lease) Held() bool { return l.keeper.Held() }

// Ask asks for the time that is left.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	left, err := l.lock.TTL(ctx)
	if err != nil {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	return left > 0, nil
}

// Lost is closed when a refresh is refused, or when none came through in time.
func (l *lease) Lost() <-chan struct{} { return l.keeper.Lost() }

// Release deletes the key if it has our value.
func (l *lease) Release(ctx context.Context) error {
	l.keeper.Stop()
	switch err := l.lock.Release(ctx); {
	case errors.Is(err, redislock.ErrLockNotHeld):
		return lock.Definite(histories.ErrLost, fmt.Errorf("release: %w", err))
	case err != nil:
		return fmt.Errorf("release: %w", err)
	}
	return nil
}

func (l *lease) refresh(ctx context.Context) (time.Time, error) {
	sent := time.Now()
	switch err := l.lock.Refresh(ctx, l.ttl, nil); {
	case errors.Is(err, redislock.ErrNotObtained):
		return time.Time{}, lock.Definite(histories.ErrLost, fmt.Errorf("refresh: %w", err))
	case err != nil:
		return time.Time{}, fmt.Errorf("refresh: %w", err)
	}
	return sent.Add(l.ttl), nil
}
