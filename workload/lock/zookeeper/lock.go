// Package zookeeper has two locks on ZooKeeper, with github.com/go-zookeeper/zk.
//
// [NewRecipe] is the lock of ZooKeeper's own recipes page: an ephemeral sequential
// node for each attempt, the lowest holds, and each waiter watches the one before its
// own. Its fencing token is the czxid of the own node: the transaction that made it, in
// the order of the queue, over all leaders, and also if the parent is made again, when
// the numbers in the names begin anew. [NewLock] is the library's zk.Lock as it is,
// which keeps the path of its node to itself: no token can be had.
//
// # Sessions
//
// Each acquire makes a client of its own, and so a session. A session kept from grant
// to grant would make "acquire's invocation plus ttl" a promise that was never given:
// its timeout counts from some earlier ping. The ttl is the session timeout that the
// server negotiated, between 2 and 20 ticks.
//
// The client pings on its own, and no ping is reported as a renewal, though one could
// be seen on the wire: a follower answers it and tells the leader later, so that an
// answered ping promises nothing if that follower dies. Promises are therefore shorter
// than the truth, and accuse nobody falsely.
//
// The loss is told by the client's session event "expired", which it gets only when it
// reaches a server again: a client that is cut off for good is never told. A lock node
// that somebody deletes is not noticed, as the recipe does not watch it.
//
// # Retries
//
// The library connects again by itself, within the session. A request that was sent
// and not answered then fails with zk.ErrConnectionClosed and is not sent again; one
// that was not sent yet waits, and fails with zk.ErrNoServer after one round over the
// servers. One retry stays, because it is part of the recipe: after a broken connection
// CreateProtectedEphemeralSequential looks for its node and makes it if it isn't there.
// After an expiry the library would begin a new session; it is not let to.
//
// The parents of the lock nodes are left behind.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the locks without asking a server, at the default tickTime. All but
// the last two are in ticks: with another tickTime they differ accordingly.
const (
	// TickTime is the server's default unit of time.
	TickTime = 2 * time.Second
	// LeastTTL is the shortest session timeout that a server grants. Less is raised to it.
	LeastTTL = 2 * TickTime
	// ExpirySlack is how late an expired session is ended, at most, on an idle server:
	// expiries are rounded up to the next tick, and one transaction comes on top.
	// Measured with ticks of 500 ms, server 3.8.0: 21 to 509 ms after the answer (60
	// leases). A new leader gives every session its full timeout again.
	ExpirySlack = TickTime
	// LockDelay is how long the store keeps an ended lock from others.
	LockDelay = time.Duration(0)
	// Poll is how long a waiter may sleep while the lock is free. It waits by a watch.
	Poll = time.Duration(0)
)

const (
	dialTimeout = 5 * time.Second // for the first answer
	// errRefused is the error word for what can't be asked of a server.
	errRefused = "refused"
)

// recipe is one of the two locks, for one attempt.
type recipe interface {
	// take blocks until the lock is granted or ctx or the session ends.
	take(ctx context.Context) error
	// remove deletes the own node. Its errors are those of zk.
	remove() error
	// token is the fencing token, after take.
	token() (int64, bool)
	// holds asks, through another client, whether the session still holds the lock.
	holds(asker *zk.Conn, session int64) (bool, error)
}

// Lock takes leases, each with a client of its own.
type Lock struct {
	servers  []string
	prefix   string
	listener lock.Listener
	recipe   func(s *session, dir string) recipe
	asker    *zk.Conn // for questions

	mu       sync.Mutex
	closed   bool
	sessions map[*session]bool // those that may be open
}

var _ lock.Lock = (*Lock)(nil)
var _, _ lock.Factory = NewRecipe, NewLock

// NewRecipe connects the lock recipe.
func NewRecipe(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, func(s *session, dir string) recipe { return &queue{conn: s.conn, dir: dir} })
}

// NewLock connects zk.Lock.
func NewLock(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, func(s *session, dir string) recipe {
		return &library{lock: zk.NewLock(s.conn, dir, anyone()), drop: s.drop, dir: dir}
	})
}

// connect makes sure that ZooKeeper answers, within five seconds.
func connect(ctx context.Context, o lock.Options, r func(*session, string) recipe) (lock.Lock, error) {
	asker, err := dial(ctx, o.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	return &Lock{
		servers: o.Endpoints, prefix: o.Prefix, listener: o.Listener, recipe: r, asker: asker,
		sessions: map[*session]bool{},
	}, nil
}

// dial makes a silent client for questions, which may get a new session at any time.
func dial(ctx context.Context, servers []string) (*zk.Conn, error) {
	conn, _, err := zk.Connect(servers, 2*dialTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := await(ctx, func() (bool, error) { found, _, err := conn.Exists("/"); return found, err }); err != nil {
		go conn.Close() // waits a second for an answer
		return nil, err
	}
	return conn, nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func anyone() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// Close breaks the connections. The sessions run out.
func (l *Lock) Close() error {
	l.mu.Lock()
	l.closed = true
	for s := range l.sessions {
		s.drop()
	}
	l.mu.Unlock()
	l.asker.Close()
	return nil
}

// Acquire makes a session and takes the lock with it.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	if ttl <= 0 || ttl.Milliseconds() >= math.MaxInt32 || strings.Contains(name, "/") {
		return nil, fmt.Errorf("acquire %s: %w", name, lock.Definite(errRefused, fmt.Errorf("ttl of %v, name %q", ttl, name)))
	}
	s, err := l.begin(ctx, (ttl + time.Millisecond - 1).Truncate(time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("acquire %s: begin session: %w", name, err)
	}
	l.listener.Began(s.name())
	r := l.recipe(s, "/"+l.prefix+name)
	if err := r.take(ctx); err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, l.failed(s, err))
	}
	if s.hasExpired() {
		// zk.Lock may have been granted a moment before; or its node is that of no session.
		return nil, fmt.Errorf("acquire %s: %w", name, l.failed(s, zk.ErrSessionExpired))
	}
	point.Reach(ctx, histories.PointLocked)
	return newLease(l, s, r), nil
}

// begin makes a session. Without one there is no node, and without a node nothing can
// take the lock: no error of begin is unsettled.
func (l *Lock) begin(ctx context.Context, ttl time.Duration) (*session, error) {
	s, err := newSession(l.servers, ttl)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		err = errors.New("the lock is closed")
	} else {
		l.sessions[s] = true
	}
	l.mu.Unlock()
	if err == nil {
		err = s.awaitBegin(ctx)
	}
	if err != nil {
		l.forget(s)
		return nil, err
	}
	return s, nil
}

// forget drops a session that needs no tidying.
func (l *Lock) forget(s *session) {
	s.drop()
	l.mu.Lock()
	delete(l.sessions, s)
	l.mu.Unlock()
}

// failed classes the error of an attempt. An expired session has no node, and gets
// none. With any other the node may be in the queue, or a create on its way, and only
// the end of the session makes sure.
func (l *Lock) failed(s *session, err error) error {
	l.forget(s)
	switch {
	case errors.Is(err, zk.ErrInvalidPath):
		return lock.Definite(errRefused, err)
	case s.hasExpired(), errors.Is(err, errGone):
		return lock.Definite(histories.ErrLost, err)
	}
	return &lock.Unsettled{Err: err, Settle: func(ctx context.Context) error {
		if err := s.end(ctx); errors.Is(err, errGone) {
			return lock.Definite(histories.ErrLost, err)
		} else if err != nil {
			return fmt.Errorf("end session %s: %w", s.name(), err)
		}
		return nil
	}}
}

// await runs a request of the library, which knows no context. What is abandoned goes
// on until its connection is closed.
func await[T any](ctx context.Context, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	if err := ctx.Err(); err != nil {
		var none T
		return none, err
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
