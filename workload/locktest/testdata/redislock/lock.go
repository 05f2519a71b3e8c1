// Package redislock is a worked example: a lock over Redis that is right, and the same
// with one classic mistake.
package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrGone says that there was nothing left to release: the lease had run out.
var ErrGone = errors.New("the lock is not ours any more")

// Lock takes leases in one Redis.
type Lock struct {
	rdb *redis.Client
	// careless draws the token before it has the lock: whoever waits for long gets it
	// with a smaller number than those who had it meanwhile.
	careless bool
}

// New connects to a Redis.
func New(endpoint string) *Lock {
	return &Lock{rdb: redis.NewClient(&redis.Options{Addr: endpoint, MaxRetries: -1})}
}

// NewCareless is New with the mistake.
func NewCareless(endpoint string) *Lock {
	l := New(endpoint)
	l.careless = true
	return l
}

// The token is drawn in the same script: a number drawn in a second step would be larger
// than the successor's, if the holder is stopped between the two.
var take = redis.NewScript(`
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("INCR", KEYS[1] .. ":token")
end
return false`)

var giveBack = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`)

// Lease is one hold of a lock.
type Lease struct {
	Token int64
	lock  *Lock
	key   string
	owner string
}

// Acquire takes the lock, or tries until ctx ends.
func (l *Lock) Acquire(ctx context.Context, key string, ttl time.Duration) (*Lease, error) {
	owner := rand.Text()
	var early int64
	if l.careless {
		var err error
		if early, err = l.rdb.Incr(ctx, key+":token").Result(); err != nil {
			return nil, err
		}
	}
	for {
		token, err := take.Run(ctx, l.rdb, []string{key}, owner, ttl.Milliseconds()).Int64()
		if err == nil && l.careless {
			token = early
		}
		if err == nil {
			return &Lease{Token: token, lock: l, key: key, owner: owner}, nil
		}
		if !errors.Is(err, redis.Nil) {
			return nil, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Release gives the lock back.
func (l *Lease) Release(ctx context.Context) error {
	n, err := giveBack.Run(ctx, l.lock.rdb, []string{l.key}, l.owner).Int64()
	if err == nil && n == 0 {
		return ErrGone
	}
	return err
}

// Close gives up the connections.
func (l *Lock) Close() error { return l.rdb.Close() }
