// Package redsync is the lock of github.com/go-redsync/redsync/v4 (Redlock) on one or
// more independent Redis servers, of which a majority must grant: TryLockContext until
// it is granted, ExtendContext by the holder, which this adapter does every third of
// the ttl, and UnlockContext. The library issues no token (its value is random: there
// is no order in it), and never tells of a loss; the loss channel is the holder's own.
//
// The ttl of a lease is the expiry that is set on the servers: each server of the
// majority keeps the key for so long after it was asked, and it was asked after the
// acquire began. The library's own validity, which [Lease.Held] goes by, is shorter: by
// the time that the acquire took and 1 % for the drift of clocks.
//
// LockContext with several tries is not used: it sends the same value with each try,
// and takes the keys of a failed try back before the next. A deletion that is late (its
// answer was not waited for) then deletes a key of the try that was granted. With
// TryLockContext each attempt has a value of its own, and a late deletion finds nothing.
//
// The library gives each server 5 % of the expiry to answer. Retries, redials and
// deadlines of the go-redis client below it are off: see redis.Options. The session of
// a lease is the value. There is no Watch: see the redis package.
package redsync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	pools "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the lock without asking a server.
const (
	// LeastTTL is the shortest time to live that makes sense: a server has 5 % of it to
	// answer, here 50 ms.
	LeastTTL = time.Second
	// ExpirySlack is how late a lease ends, at most, on idle servers: see the redis
	// package. The keys of a majority were set within one round trip.
	ExpirySlack = redis.ExpirySlack
	// LockDelay is how long the store keeps an ended lock from others.
	LockDelay = time.Duration(0)
	// Poll is how long a waiter sleeps between two attempts, at most: the library's own
	// default, from 50 ms on, at random, so that waiters do not split the servers
	// between them again and again.
	Poll = 250 * time.Millisecond

	leastPoll = 50 * time.Millisecond
)

// Lock takes leases through one go-redis client for each server.
type Lock struct {
	clients  []*goredis.Client
	redsync  *redsync.Redsync
	prefix   string
	listener lock.Listener
	open     context.Context // ends with Close
	close    context.CancelFunc
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.Factory = New

// New connects to all endpoints; all must answer.
func New(ctx context.Context, o lock.Options) (lock.Lock, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("connect to redis: no endpoint")
	}
	l := &Lock{prefix: o.Prefix, listener: o.Listener}
	l.open, l.close = context.WithCancel(context.Background())
	var all []redsyncredis.Pool
	for node, endpoint := range o.Endpoints {
		client, err := redis.Connect(ctx, endpoint)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.clients = append(l.clients, client)
		all = append(all, pool{Pool: pools.NewPool(client), node: node})
	}
	l.redsync = redsync.New(all...)
	return l, nil
}

// Close closes the clients. Their leases run out.
func (l *Lock) Close() error {
	l.close()
	var failed []error
	for _, client := range l.clients {
		if err := client.Close(); err != nil {
			failed = append(failed, fmt.Errorf("close redis client: %w", err))
		}
	}
	return errors.Join(failed...)
}

func (l *Lock) quorum() int { return len(l.clients)/2 + 1 }

// Acquire tries until it is granted or ctx ends. An attempt that has begun goes on to
// its end, which the library sets at a tenth of the ttl: cut short, it would leave keys
// behind, as the library takes them back under the same context.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	expiry, err := redis.WholeMS(ttl)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	first := true
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, err)
		}
		a := l.attempt(name, expiry)
		if first {
			l.listener.Began(a.value)
		}
		granted, err := a.try(ctx)
		if err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, err)
		}
		if granted {
			if !first {
				l.listener.Began(a.value)
			}
			point.Reach(ctx, histories.PointLocked)
			return newLease(a), nil
		}
		first = false
		redis.Sleep(ctx, leastPoll+rand.N(Poll-leastPoll))
	}
}

// attempt is one value, and the mutex that is to be locked with it.
type attempt struct {
	lock   *Lock
	mutex  *redsync.Mutex
	key    string
	value  string
	expiry time.Duration
}

func (l *Lock) attempt(name string, expiry time.Duration) *attempt {
	a := &attempt{lock: l, key: l.prefix + name, value: redis.NewValue(), expiry: expiry}
	a.mutex = l.redsync.NewMutex(a.key, redsync.WithExpiry(expiry),
		redsync.WithGenValueFunc(func() (string, error) { return a.value, nil }))
	return a
}

// try is one attempt of the library. A failed one has been taken back, as far as the
// servers answered. What is left on less than a majority can't take the lock any more
// and runs out by itself; more than that is unsettled.
func (a *attempt) try(ctx context.Context) (bool, error) {
	t := newTally()
	err := a.mutex.TryLockContext(t.in(context.WithoutCancel(ctx)))
	if err == nil {
		return true, nil
	}
	if len(t.left()) < a.lock.quorum() {
		return false, nil
	}
	return false, &lock.Unsettled{Err: err, Settle: func(ctx context.Context) error { return a.settle(ctx, t) }}
}

// settle takes the attempt back where something of it may be left. t is what is known
// of it.
func (a *attempt) settle(ctx context.Context, t *tally) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, redis.AnswerLimit)
	defer cancel()
	mutex := a.lock.redsync.NewMutex(a.key, redsync.WithValue(a.value))
	_, err := mutex.UnlockContext(t.in(ctx))
	switch {
	case len(t.left()) >= a.lock.quorum():
		return fmt.Errorf("release: keys may still be on their way: %w", err)
	case t.freed(yes) == 0:
		return lock.Definite(histories.ErrLost, fmt.Errorf("release: %w", err))
	}
	return nil
}
