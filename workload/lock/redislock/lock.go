// Package redislock is the lock of github.com/bsm/redislock on one Redis server, used
// as its documentation shows: Obtain with a retry strategy, Refresh by the holder,
// which this adapter does every third of the ttl, and Release. The library issues no
// token in this version, and never tells of a loss; the loss channel is the holder's
// own: a refresh that was refused, or none that came through in time.
//
// The library sends EVALSHA, and EVAL when the server does not know the digest: two
// requests, the first of which did nothing. Retries, redials and deadlines of the
// go-redis client below it are off: see redis.Options. The session of a lease is the
// library's own Token, a random value.
//
// There is no Watch: see the redis package.
package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the lock without asking a server: see the redis package.
const (
	LeastTTL    = redis.LeastTTL
	ExpirySlack = redis.ExpirySlack
	LockDelay   = redis.LockDelay
	Poll        = redis.Poll // the backoff that Obtain is given
)

// obtainLimit bounds one Obtain. Without a deadline the library takes the ttl for one,
// and could give up in the middle of a request.
const obtainLimit = 24 * time.Hour

// Lock takes leases through one go-redis client.
type Lock struct {
	client   *goredis.Client
	prefix   string
	listener lock.Listener
	open     context.Context // ends with Close
	close    context.CancelFunc
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.Factory = New

// New connects to the first endpoint.
func New(ctx context.Context, o lock.Options) (lock.Lock, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("connect to redis: no endpoint")
	}
	client, err := redis.Connect(ctx, o.Endpoints[0])
	if err != nil {
		return nil, err
	}
	l := &Lock{client: client, prefix: o.Prefix, listener: o.Listener}
	l.open, l.close = context.WithCancel(context.Background())
	return l, nil
}

// Close closes the client. Its leases run out.
func (l *Lock) Close() error {
	l.close()
	if err := l.client.Close(); err != nil {
		return fmt.Errorf("close redis client: %w", err)
	}
	return nil
}

// Acquire obtains the lock. While there is no connection nothing is sent, and it goes
// on trying.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	px, err := redis.WholeMS(ttl)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	token, key := redis.NewValue(), l.prefix+name
	l.listener.Began(token)
	for {
		seen := &scripter{RedisClient: l.client}
		held, err := obtain(ctx, seen, key, px, token)
		if err == nil {
			sent := seen.granted()
			point.Reach(ctx, histories.PointLocked)
			return newLease(l, held, sent, px), nil
		}
		if err := l.failed(ctx, seen, key, token, err); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, err)
		}
		redis.Sleep(ctx, Poll)
	}
}

// obtain is one call of the library, which waits and tries again by itself. The value
// is given to it, so that an attempt without an answer can be settled.
func obtain(ctx context.Context, client redislock.RedisClient, key string, ttl time.Duration, token string) (*redislock.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, obtainLimit)
	defer cancel()
	return redislock.Obtain(ctx, client, key, ttl, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(Poll),
		Token:         token,
	})
}

// failed classes an error of Obtain. The library's error says that the context ended,
// but not whether a request was under way; what was seen of the requests does. nil
// means that nothing was sent, or all was refused, and that there is time to try again.
func (l *Lock) failed(ctx context.Context, seen *scripter, key, token string, err error) error {
	switch last := seen.lastError(); {
	case redis.Refused(last):
		return lock.Definite(redis.ErrRefused, err)
	case last != nil && !redis.NotSent(last):
		return &lock.Unsettled{Err: err, Settle: func(ctx context.Context) error {
			return redis.Settle(ctx, l.client, key, token, false)
		}}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return nil
}
