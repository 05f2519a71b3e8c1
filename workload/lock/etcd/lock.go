// Package etcd is the locks of go.etcd.io/etcd/client/v3/concurrency: Mutex ([New])
// and Election ([NewElection]), used as their documentation shows. It has only the
// client side of etcd.
//
// The fencing token is the create revision of the lock key: the order in which
// waiters queued, which is the order in which they are granted. The session of a
// lease is the etcd lease, in hex, as the lock key has it.
//
// The client's own retries are off: MaxUnaryRetries is 1 (it counts attempts), and
// gRPC's retries are disabled.
//
// [Watch] tells what the store was seen to do, and [Empty] that a prefix is fresh.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the lock without asking a server, at etcd's default settings.
const (
	// LeastTTL is the shortest time to live that a server grants: one and a half
	// election timeouts, in whole seconds. Less is raised to it.
	LeastTTL = 2 * time.Second
	// ExpirySlack is how late an expired lease is ended, at most, on an idle server:
	// it looks every 500 ms. One raft entry comes on top.
	ExpirySlack = 500 * time.Millisecond
	// LockDelay is how long the store keeps an ended lock from others.
	LockDelay = time.Duration(0)
	// Poll is how long a waiter may sleep while the lock is free. It waits by a watch.
	Poll = time.Duration(0)
)

const (
	// tidyLimit bounds what is done to tidy up after an attempt that failed. The
	// lease ends by itself if it does not suffice.
	tidyLimit = 2 * time.Second
	// dialTimeout bounds the first answer. It also sets the client's first keepalive
	// deadline (one second more).
	dialTimeout = 5 * time.Second
	// errRefused is the error word for a lease that the server would not grant.
	errRefused = "refused"
)

// Lock takes leases through one etcd client.
type Lock struct {
	client   *clientv3.Client
	recipe   func(*concurrency.Session, string) recipe
	prefix   string
	listener lock.Listener
	closing  atomic.Bool
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.Factory = New

// recipe takes a lock within a session: it queues a key that hangs on the session.
// It is for one goroutine.
type recipe interface {
	lock(ctx context.Context) error
	// granted tells the key and its create revision. It is called once, after lock.
	granted() (key string, revision int64)
	// unlock deletes the key. The error is Definite if the store said, now or at an
	// earlier call, that there is nothing to delete.
	unlock(ctx context.Context) error
}

// New connects to etcd and makes sure that it answers, within five seconds. The
// lock is concurrency.Mutex.
func New(ctx context.Context, o lock.Options) (lock.Lock, error) { return connect(ctx, o, newMutex) }

func connect(ctx context.Context, o lock.Options, r func(*concurrency.Session, string) recipe) (lock.Lock, error) {
	renewals := renewals{listener: o.Listener}
	client, err := dial(o.Endpoints,
		grpc.WithChainUnaryInterceptor(watchReplies),
		grpc.WithChainStreamInterceptor(renewals.intercept))
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := client.Get(ours(ctx, nil), o.Prefix, clientv3.WithCountOnly()); err != nil {
		client.Close()
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	return &Lock{client: client, recipe: r, prefix: o.Prefix, listener: o.Listener}, nil
}

// dial makes a silent client that sends every request once. While there is no
// connection a request waits for one, unsent, until its context ends. (The one
// retry that cannot be switched off is gRPC's own, of a request that never left.)
func dial(endpoints []string, options ...grpc.DialOption) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints:       endpoints,
		DialTimeout:     dialTimeout,
		Logger:          zap.NewNop(),
		MaxUnaryRetries: 1, // attempts, in truth: 0 means the default of 100
		DialOptions:     append(options, grpc.WithDisableRetry()),
	})
}

// Close closes the client. Its leases run out.
func (l *Lock) Close() error {
	l.closing.Store(true)
	if err := l.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close etcd client: %w", err)
	}
	return nil
}

// Acquire makes a new session and takes the lock with it.
//
// A session kept from grant to grant would make "acquire's invocation plus ttl" a
// promise that the store never gave: its ttl would count from some earlier
// keepalive. The session that begins inside the acquire ends, if nobody ends it,
// no earlier than the acquire's invocation plus the ttl.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	a, err := l.begin(ctx, ttl)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: begin session: %w", name, err)
	}
	r := l.recipe(a.session, l.prefix+name)
	if err := r.lock(ours(ctx, nil)); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, a.failed(err))
	}
	point.Reach(ctx, histories.PointLocked)
	return newLease(l, a, r), nil
}

// attempt is a session that is to carry, or carries, a lease.
type attempt struct {
	client  *clientv3.Client
	session *concurrency.Session
	cancel  context.CancelFunc // ends the session's context
	ttl     time.Duration      // as the server granted it
}

// begin makes a session. The session lives on after ctx. Without a session there
// is no key, and without a key nothing can take the lock: no error of begin is
// unsettled.
func (l *Lock) begin(ctx context.Context, ttl time.Duration) (*attempt, error) {
	if ttl <= 0 {
		return nil, lock.Definite(errRefused, fmt.Errorf("ttl of %v", ttl))
	}
	seconds := int(ttl / time.Second)
	if ttl%time.Second > 0 {
		seconds++ // never less than was asked for
	}
	var granted clientv3.LeaseID
	var effective time.Duration
	sctx, cancel := context.WithCancel(ours(l.client.Ctx(), func(reply any) {
		// concurrency.Session keeps the ttl to itself, so it is read off the wire.
		// This runs inside NewSession, before the first keepalive.
		if r, ok := reply.(*pb.LeaseGrantResponse); ok {
			granted, effective = clientv3.LeaseID(r.ID), time.Duration(r.TTL)*time.Second
			l.listener.Began(sessionName(granted))
		}
	}))
	stop := context.AfterFunc(ctx, cancel)
	session, err := concurrency.NewSession(l.client, concurrency.WithTTL(seconds), concurrency.WithContext(sctx))
	inTime := stop()
	if err == nil && session != nil && inTime {
		return &attempt{client: l.client, session: session, cancel: cancel, ttl: effective}, nil
	}
	cancel()
	if granted != clientv3.NoLease {
		revoke(l.client, granted)
	}
	return nil, whyNoSession(ctx, err)
}

func whyNoSession(ctx context.Context, err error) error {
	var answer rpctypes.EtcdError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return errors.New("the client keeps no lease alive")
	case errors.As(err, &answer) && answer.Code() != codes.Unavailable:
		return lock.Definite(errRefused, err)
	}
	return err
}

// revoke tries to end a lease that holds no key.
func revoke(client *clientv3.Client, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(client.Ctx(), tidyLimit)
	defer cancel()
	client.Revoke(ours(ctx, nil), id)
}

// failed classes the error of a recipe's lock. Two of them say that the lock key is gone
// for good: the session ended while its key waited, or before there was one. After
// any other the key may still be in the queue, or a put of it on its way, and only
// the end of the lease makes sure: a put under an ended lease is refused.
func (a *attempt) failed(err error) error {
	a.end()
	if errors.Is(err, concurrency.ErrSessionExpired) || errors.Is(err, rpctypes.ErrLeaseNotFound) {
		revoke(a.client, a.session.Lease())
		return lock.Definite(histories.ErrLost, err)
	}
	return &lock.Unsettled{Err: err, Settle: a.settle}
}

// end stops the keepalives: without a holder the lease shall run out.
func (a *attempt) end() {
	a.session.Orphan()
	a.cancel()
}

func (a *attempt) settle(ctx context.Context) error {
	_, err := a.client.Revoke(ours(ctx, nil), a.session.Lease())
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return lock.Definite(histories.ErrLost, err)
	}
	if err != nil {
		return fmt.Errorf("revoke lease %s: %w", sessionName(a.session.Lease()), err)
	}
	return nil
}

// sessionName is the lease id as both recipes write it into the lock key.
func sessionName(id clientv3.LeaseID) string { return fmt.Sprintf("%x", int64(id)) }
