// Package nats is a lock on a key of a NATS JetStream bucket, with the key-value API
// of github.com/nats-io/nats.go: Create takes the key, Update renews it, and the age
// limit of the bucket (its TTL) ends a lease that nobody renews. That is what users
// build; the library has no lock of its own.
//
// The fencing token is the revision that Create returned. Revisions grow within a
// bucket, over deletions and expiries too; a renewal raises the revision of the key
// and leaves the token alone. A bucket that is deleted and made again counts from 1:
// no two cells share a bucket.
//
// There is one bucket for each prefix. Its age limit is the ttl of the first acquire,
// in whole seconds; an acquire with another ttl is refused, because a key can't have
// a time to live of its own that a renewal would keep. Ages go by the server's wall
// clock. The bucket has one replica, so
// that what is read is what the last write left. Servers from 2.11 on will do: older
// ones leave no markers, see [Watch].
//
// Each request is sent once: the reconnect buffer is off (ReconnectBufSize), so that
// nothing is sent that was asked for while there was no connection; and what was asked
// for and got no answer fails with the connection. The one retry that the key-value
// API does not let us switch off is of a message that reached no stream: the server
// says so, and nothing happened.
//
// The session of a lease is its value in the bucket, random for each attempt.
package nats

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/keeper"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the lock without asking a server.
const (
	// LeastTTL is the shortest time to live that we set; the server takes whole seconds
	// for its markers.
	LeastTTL = time.Second
	// ExpirySlack is how late a lease ends, at most, on an idle server: it looks for
	// what is too old every 250 ms. Measured on a busy machine, server 2.15.2, data in
	// files: 65 to 318 ms after the answer to the create (80 leases).
	ExpirySlack = 500 * time.Millisecond
	// LockDelay is how long the store keeps an ended lock from others.
	LockDelay = time.Duration(0)
	// Poll is how long a waiter sleeps between two attempts.
	Poll = 200 * time.Millisecond
)

const (
	dialTimeout = 5 * time.Second
	// answerLimit bounds the wait for an answer that has no other bound.
	answerLimit = 2 * time.Second
	// errRefused is the error word for what the server would not do.
	errRefused = "refused"
)

// Lock takes leases through one NATS client.
type Lock struct {
	client   *nats.Conn
	js       jetstream.JetStream
	prefix   string
	listener lock.Listener
	open     context.Context // ends with Close
	close    context.CancelFunc

	mu   sync.Mutex
	made *bucket // nil before the first acquire
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.Factory = New

// New connects to NATS and makes sure that JetStream answers, within five seconds.
func New(ctx context.Context, o lock.Options) (lock.Lock, error) {
	client, js, err := dial(ctx, o.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	l := &Lock{client: client, js: js, prefix: o.Prefix, listener: o.Listener}
	l.open, l.close = context.WithCancel(context.Background())
	return l, nil
}

// dial makes a silent client that connects again by itself and sends nothing twice.
func dial(ctx context.Context, endpoints []string) (*nats.Conn, jetstream.JetStream, error) {
	client, err := nats.Connect(strings.Join(endpoints, ","),
		nats.Timeout(dialTimeout),
		nats.MaxReconnects(-1), // for ever
		nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectBufSize(-1), // none
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(client)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		_, err = js.AccountInfo(ctx)
	}
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, js, nil
}

// Close closes the client. Its leases run out.
func (l *Lock) Close() error {
	l.close()
	l.client.Close()
	return nil
}

// Acquire tries to create the key until it is granted or ctx ends. While there is no
// connection nothing is sent, and it goes on trying.
//
// An attempt that has begun is ended by its answer, or by answerLimit, and not by ctx:
// so there is hardly ever a doubt about it.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	age, err := wholeSeconds(ttl)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	b, err := l.bucket(ctx, age)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	a := &attempt{bucket: b, key: name, value: nuid.Next(), ttl: age}
	l.listener.Began(a.value)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, err)
		}
		began := time.Now()
		token, err := a.create(ctx)
		if err == nil {
			point.Reach(ctx, histories.PointLocked)
			return l.granted(a, token, began.Add(age)), nil
		}
		if err = a.failed(err); err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, err)
		}
		sleep(ctx, Poll)
	}
}

func (l *Lock) granted(a *attempt, token uint64, until time.Time) *lease {
	return &lease{attempt: a, token: int64(token), keeper: keeper.Start(l.open, keeper.Config{
		Session: a.value, TTL: a.ttl, Until: until, Listener: l.listener, Renew: a.renew,
	})}
}

// bucket returns the bucket of the prefix; the first call makes it.
func (l *Lock) bucket(ctx context.Context, age time.Duration) (*bucket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		b, err := makeBucket(ctx, l.js, bucketName(l.prefix), age)
		if err != nil {
			return nil, err
		}
		l.made = b
	}
	if l.made.age != age {
		return nil, otherAge(l.made.age, age)
	}
	return l.made, nil
}

func otherAge(has, asked time.Duration) error {
	return lock.Definite(errRefused, fmt.Errorf("ttl of %v: the bucket has %v, for all its keys", asked, has))
}

// wholeSeconds is the ttl as it is set: never less than was asked for.
func wholeSeconds(ttl time.Duration) (time.Duration, error) {
	const most = 100 * 365 * 24 * time.Hour
	if ttl <= 0 || ttl > most {
		return 0, lock.Definite(errRefused, fmt.Errorf("ttl of %v", ttl))
	}
	return (ttl + time.Second - 1).Truncate(time.Second), nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
