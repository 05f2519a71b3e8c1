// Package redis is the lock of the Redis documentation's page "Distributed Locks with
// Redis", on one server, with github.com/redis/go-redis/v9: SET NX PX with a random
// owner value, asked for again and again until it is granted; a script that compares
// and deletes for the release; and one that compares and sets the expiry for renewals,
// which the holder sends every third of the ttl, as that lock's users do.
//
// [NewSet] is that, without a token. [NewCounter] raises a counter in the very script
// that sets the key, and hands out its value as the fencing token: ordered for as long
// as the data lives (a replica that takes over, or a server that comes back without
// its last writes, may count again what was counted). [NewTwoStep] raises the counter
// in a second request, and is known to be bad: see there.
//
// The first endpoint is used. Retries, redials and deadlines of the client are off:
// see [Options]. The session of a lease is its owner value.
//
// There is no Watch: keyspace events are off by default, sent once and to whoever
// happens to listen, and an expiry is announced when the server gets round to it. A
// gap would look like a lease that never ended.
package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the lock without asking a server.
const (
	// LeastTTL is the shortest time to live that makes sense. The server would take
	// 1 ms; a holder on a busy machine does not renew that in time.
	LeastTTL = 100 * time.Millisecond
	// ExpirySlack is how late a lease ends, at most. Measured over 200 leases, against a
	// waiter who asks all the time: 0.04 to 18 ms after the request's invocation plus
	// PX, on two busy cores. The server looks at its clock whenever somebody asks for
	// the key, so that all of it is the way there and back.
	ExpirySlack = 50 * time.Millisecond
	// LockDelay is how long the store keeps an ended lock from others.
	LockDelay = time.Duration(0)
	// Poll is how long a waiter sleeps between two attempts.
	Poll = 50 * time.Millisecond
)

// Lock takes leases through one go-redis client.
type Lock struct {
	client   *goredis.Client
	prefix   string
	listener lock.Listener
	recipe   recipe
	open     context.Context // ends with Close
	close    context.CancelFunc
}

var _ lock.Lock = (*Lock)(nil)
var _, _, _ lock.Factory = NewSet, NewCounter, NewTwoStep

// recipe is what tells the three locks from each other.
type recipe struct {
	// take is one attempt, in one request.
	take func(ctx context.Context, client *goredis.Client, k keys, value string, ttl time.Duration) (grant, error)
	// draw, if not nil, draws the token in a request of its own.
	draw func(ctx context.Context, client *goredis.Client, k keys) (int64, error)
	// early is how much sooner than it says it lets a lease end.
	early time.Duration
	// poll is how long a waiter sleeps between two attempts.
	poll time.Duration
}

// Early is how much too soon the leases of NewEarly end.
const Early = 50 * time.Millisecond

// grant is the answer to one attempt.
type grant struct {
	granted bool
	token   histories.Option[int64]
}

// keys are those of one lock name.
type keys struct{ lock, counter string }

// NewSet connects the lock without a token.
func NewSet(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, recipe{take: takeSet, poll: Poll})
}

// NewCounter connects the lock whose acquire script also raises a counter.
func NewCounter(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, recipe{take: takeCounter, poll: Poll})
}

// NewTwoStep connects the lock that is granted first and numbered later. It is what
// "--token counter" means, and a known-bad example: a holder that is stopped between
// the two requests for longer than its lease (at the code point locked) comes back and
// draws a larger number than its successor did, and no fence will refuse it. On
// purpose it does not look whether the lock is still held after the second request.
// That is what it is there to show; nor would a look help, as the next stop can come
// right after it.
func NewTwoStep(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, recipe{take: takeSet, draw: drawCounter, poll: Poll})
}

// NewEarly is NewCounter on a store that breaks its promises: every lease ends Early
// before the time that its holder was told, as with a store whose clock jumped ahead.
// It is a known-bad example, for the judge of exclusion to be tried on; its waiters
// look every millisecond, so that the next grant comes before that time, too.
func NewEarly(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, recipe{take: takeCounter, early: Early, poll: time.Millisecond})
}

func connect(ctx context.Context, o lock.Options, r recipe) (lock.Lock, error) {
	if len(o.Endpoints) == 0 {
		return nil, fmt.Errorf("connect to redis: no endpoint")
	}
	client, err := Connect(ctx, o.Endpoints[0])
	if err != nil {
		return nil, err
	}
	l := &Lock{client: client, prefix: o.Prefix, listener: o.Listener, recipe: r}
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

// Acquire tries until it is granted or ctx ends. While there is no connection nothing
// is sent, and it goes on trying.
//
// An attempt that has begun is ended by its answer, or by AnswerLimit, and not by ctx:
// so there is hardly ever a doubt about it.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	px, err := WholeMS(ttl)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	a := &attempt{client: l.client, keys: keys{l.prefix + "lock/" + name, l.prefix + "token/" + name}, value: NewValue(), ttl: px, early: l.recipe.early}
	l.listener.Began(a.value)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, err)
		}
		began := time.Now()
		g, err := l.take(ctx, a)
		switch {
		case NotSent(err):
		case Refused(err):
			return nil, fmt.Errorf("acquire %s: %w", name, lock.Definite(ErrRefused, err))
		case err != nil:
			return nil, fmt.Errorf("acquire %s: %w", name, &lock.Unsettled{Err: err, Settle: a.settle})
		case g.granted:
			return l.granted(ctx, name, a, g.token, began.Add(px))
		}
		Sleep(ctx, l.recipe.poll)
	}
}

func (l *Lock) take(ctx context.Context, a *attempt) (grant, error) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), AnswerLimit)
	defer cancel()
	return l.recipe.take(limited, l.client, a.keys, a.value, a.ttl-a.early)
}

// granted makes a lease of a granted attempt.
func (l *Lock) granted(ctx context.Context, name string, a *attempt, token histories.Option[int64], until time.Time) (lock.Lease, error) {
	a.set = true
	point.Reach(ctx, histories.PointLocked)
	if l.recipe.draw != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), AnswerLimit)
		defer cancel()
		drawn, err := l.recipe.draw(limited, l.client, a.keys)
		if err != nil {
			return nil, fmt.Errorf("acquire %s: draw token: %w", name, &lock.Unsettled{Err: err, Settle: a.settle})
		}
		token = histories.Some(drawn)
	}
	held := &lease{attempt: a, token: token}
	held.keeper = keeper.Start(l.open, keeper.Config{
		Session: a.value, TTL: a.ttl, Until: until, Listener: l.listener, Renew: a.renew,
	})
	return held, nil
}

// Sleep waits for d or for the end of ctx.
func Sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
