package redsync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
)

// lease is one hold.
type lease struct {
	*attempt
	keeper *keeper.Keeper
}

var _ lock.Lease = (*lease)(nil)

func newLease(a *attempt) *lease {
	l := &lease{attempt: a}
	l.keeper = keeper.Start(a.lock.open, keeper.Config{
		Session: a.value, TTL: a.expiry, Until: a.mutex.Until(), Listener: a.lock.listener, Renew: l.extend,
	})
	return l
}

// Token: the library issues none.
func (l *lease) Token() (int64, bool) { return 0, false }

// TTL is the expiry of the keys.
func (l *lease) TTL() time.Duration { return l.expiry }

// Session is the value of the keys.
func (l *lease) Session() string { return l.value }

// Held goes by Mutex.Until.
func (l *lease) Held() bool { return l.keeper.Held() }

// Lost is closed when an extension is refused by so many servers that no majority is
// left, or when none came through in time.
func (l *lease) Lost() <-chan struct{} { return l.keeper.Lost() }

// lost tells whether so many servers said no that the others are no majority.
func (l *lease) lost(noes int) bool { return len(l.lock.clients)-noes < l.lock.quorum() }

// Ask asks every server whether the key has our value. It is what Mutex.Valid does,
// which is deprecated because its answer is easily taken for more than it is.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("ask for lock keys: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, redis.AnswerLimit)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var ours, noes int
	var failed []error
	for _, client := range l.lock.clients {
		wg.Go(func() {
			value, err := client.Get(ctx, l.key).Result()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && !errors.Is(err, goredis.Nil):
				failed = append(failed, err)
			case err == nil && value == l.value:
				ours++
			default:
				noes++
			}
		})
	}
	wg.Wait()
	switch {
	case ours >= l.lock.quorum():
		return true, nil
	case l.lost(noes):
		return false, nil
	}
	return false, fmt.Errorf("ask for lock keys: %w", errors.Join(failed...))
}

// Release unlocks the mutex. The lease had ended before if so many servers had no key
// of ours that the others are no majority: a value is set once, and where it is gone
// it does not come back. With fewer noes, and less than a majority of deletions, nobody
// can tell.
//
// The library waits for all servers, also for one that does not answer; redis.AnswerLimit
// bounds that, here and in Ask.
func (l *lease) Release(ctx context.Context) error {
	l.keeper.Stop()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, redis.AnswerLimit)
	defer cancel()
	t := newTally()
	ok, err := l.mutex.UnlockContext(t.in(ctx))
	switch {
	case ok:
		return nil
	case l.lost(t.freed(no)):
		return lock.Definite(histories.ErrLost, fmt.Errorf("release: %w", err))
	}
	return fmt.Errorf("release: %w", err)
}

// extend is one renewal. The library says no, too, when a majority was extended but
// took too long: then the servers' promise is longer than the holder's, and the error
// is no definite one.
func (l *lease) extend(ctx context.Context) (time.Time, error) {
	t := newTally()
	ok, err := l.mutex.ExtendContext(t.in(ctx))
	switch {
	case ok:
		return l.mutex.Until(), nil
	case l.lost(t.extended(no)):
		return time.Time{}, lock.Definite(histories.ErrLost, fmt.Errorf("extend: %w", err))
	}
	return time.Time{}, fmt.Errorf("extend: %w", err)
}
