package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
)

// attempt is an owner value that is to be, or is, in the lock key.
type attempt struct {
	client *goredis.Client
	keys   keys
	value  string // of this attempt alone
	ttl    time.Duration
	early  time.Duration // by so much it really ends sooner: 0, but for NewEarly
	set    bool          // the server said that it set the key
}

// lease is one hold.
type lease struct {
	*attempt
	token  histories.Option[int64]
	keeper *keeper.Keeper
}

var _ lock.Lease = (*lease)(nil)

// Token is the counter, if the lock has one.
func (l *lease) Token() (int64, bool) { return l.token.Get() }

// TTL is the PX that was set.
func (l *lease) TTL() time.Duration { return l.ttl }

// Session is the owner value.
func (l *lease) Session() string { return l.value }

// Held goes by the clock: a ttl since the last request that was granted was sent.
func (l *lease) Held() bool { return l.keeper.Held() }

// Ask asks whether the key has our value.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	value, err := l.client.Get(ctx, l.keys.lock).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	return err == nil && value == l.value, nil
}

// Lost is closed when a renewal is refused, or when none came through in time.
func (l *lease) Lost() <-chan struct{} { return l.keeper.Lost() }

// Release deletes the key if it has our value: one request, so that there is no
// between in which the process could be stopped.
func (l *lease) Release(ctx context.Context) error {
	l.keeper.Stop()
	return l.settle(ctx)
}

func (a *attempt) renew(ctx context.Context) (time.Time, error) {
	sent := time.Now()
	ours, err := CompareAndExpire(ctx, a.client, a.keys.lock, a.value, a.ttl-a.early)
	if err != nil {
		return time.Time{}, fmt.Errorf("renew: %w", err)
	}
	if !ours {
		return time.Time{}, lock.Definite(histories.ErrLost, fmt.Errorf("renew: %w", keeper.ErrNotHeld))
	}
	return sent.Add(a.ttl), nil
}

func (a *attempt) settle(ctx context.Context) error {
	return Settle(ctx, a.client, a.keys.lock, a.value, a.set)
}

// Settle deletes the key if it has the value, which belongs to one attempt alone. set
// says that the server is known to have carried out the SET. If it did so, a key that
// is gone now is gone for good, and that is a definite no.
//
// If it is not known, and there was nothing to delete, the SET may still be on its
// way: the server reads connections in no order, those that the client has closed
// included. To wait does not help; the answer stays indefinite.
func Settle(ctx context.Context, client goredis.Scripter, key, value string, set bool) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	deleted, err := CompareAndDelete(ctx, client, key, value)
	switch {
	case err != nil:
		return fmt.Errorf("release: %w", err)
	case deleted:
		return nil
	case set:
		return lock.Definite(histories.ErrLost, fmt.Errorf("release: %w", keeper.ErrNotHeld))
	}
	return errors.New("release: there is nothing, but the SET may still be on its way")
}
