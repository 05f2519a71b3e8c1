// Package consul is api.Lock of github.com/hashicorp/consul/api, used as its
// documentation shows: the library makes a session with a TTL, renews it every half of
// that, acquires the key with it, and watches the key while it is held.
//
// The fencing token is the ModifyIndex of the key: the raft index of its last change,
// which was the acquire. (LockIndex counts grants, too, but begins anew when somebody
// deletes the key.) The library does not hand it out, so it is read in a second step,
// and counts only if that very record names our own session: then nobody else was
// granted in between. Otherwise the acquire fails as lost.
//
// Each acquire makes a session, as the library does if it is not given one. The server
// ends a session no earlier than a TTL after it was made or last renewed, and arms
// twice the TTL. The library binds sessions also to the health of the agent's node: if
// that node fails, its sessions end at once, earlier than was promised.
//
// A lock whose session ended without a release is kept from others for the lock-delay.
// It is set to 1 ms here (15 s by default). Who is refused, because of the delay or
// because another was quicker, and then finds the key free, sleeps for five seconds:
// so the library does it.
//
// Nothing is sent twice on the library's own account: MonitorRetries is 0. The
// renewals are repeated every second while they get no answer, and reported like any
// other. (net/http sends a request again only if nothing of it was sent, or if it is a
// read.)
//
// The loss is told by the channel that Lock returns. It is closed when the key is seen
// to have another session or none, and also at the first error of the watch on it, so
// that it tells of more losses than there are.
//
// The keys are left behind, without a session.
package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// What is known of the lock without asking a server.
const (
	// LeastTTL is the shortest time to live that a server takes by default
	// (session_ttl_min). It refuses less.
	LeastTTL = 10 * time.Second
	// LockDelay is how long the store keeps an ended lock from others: what we set.
	LockDelay = time.Millisecond
	// Poll is how long a waiter may sleep while the lock is free: after it was refused.
	Poll = api.DefaultLockRetryTime
)

// ExpirySlack is how late a session of the ttl is ended, at most: the server arms twice
// the ttl. Measured, server 1.14.11: a ttl of 3 s ended after 6.0 s.
func ExpirySlack(ttl time.Duration) time.Duration { return ttl + time.Second }

const (
	dialTimeout = 5 * time.Second
	// tidyLimit bounds what the library does to tidy up.
	tidyLimit = 5 * time.Second
	// errRefused is the error word for a session that the server would not make.
	errRefused = "refused"
)

// Lock takes leases through one HTTP transport.
type Lock struct {
	endpoint  string
	transport *http.Transport
	client    *api.Client // for questions
	prefix    string
	listener  lock.Listener
	open      context.Context // ends with Close
	close     context.CancelFunc
}

var _ lock.Lock = (*Lock)(nil)
var _ lock.Factory = New

// New connects to the first endpoint and makes sure that Consul answers, within five
// seconds.
func New(ctx context.Context, o lock.Options) (lock.Lock, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("connect to Consul: no endpoint")
	}
	l := &Lock{endpoint: o.Endpoints[0], transport: newTransport(), prefix: o.Prefix, listener: o.Listener}
	l.open, l.close = context.WithCancel(context.Background())
	var err error
	if l.client, err = dial(l.endpoint, &wire{base: l.transport, open: l.open}); err != nil {
		return nil, fmt.Errorf("connect to Consul: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, _, err := l.client.KV().Get(o.Prefix+"any", consistent(ctx)); err != nil {
		l.Close()
		return nil, fmt.Errorf("connect to Consul: %w", err)
	}
	return l, nil
}

func newTransport() *http.Transport {
	// Each waiter and each holder keeps a request open.
	return &http.Transport{MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute}
}

func dial(endpoint string, transport http.RoundTripper) (*api.Client, error) {
	return api.NewClient(&api.Config{Address: endpoint, HttpClient: &http.Client{Transport: transport}})
}

// consistent makes a question one that the leader answers, after it has made sure that
// it still leads.
func consistent(ctx context.Context) *api.QueryOptions {
	return (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx)
}

// Close breaks off what is under way. The sessions run out.
func (l *Lock) Close() error {
	l.close()
	l.transport.CloseIdleConnections()
	return nil
}

// Acquire makes a lock, and with it a session, and locks it.
func (l *Lock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	if ttl <= 0 {
		return nil, fmt.Errorf("acquire %s: %w", name, lock.Definite(errRefused, fmt.Errorf("ttl of %v", ttl)))
	}
	w := &wire{base: l.transport, open: l.open, listener: l.listener}
	w.bind(ctx)
	client, err := dial(l.endpoint, w)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	a := &attempt{lock: l, wire: w, key: l.prefix + name, ttl: ttl}
	a.library, err = client.LockOpts(&api.LockOptions{Key: a.key, SessionTTL: ttl.String(), LockDelay: LockDelay})
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, lock.Definite(errRefused, err))
	}
	lost, err := a.library.Lock(ctx.Done())
	if lost == nil {
		return nil, fmt.Errorf("acquire %s: %w", name, a.failed(ctx, err))
	}
	w.bind(l.open)
	point.Reach(ctx, histories.PointLocked)
	token, err := a.drawToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	return newLease(a, token, lost), nil
}

// attempt is a session that is to hold, or holds, the key.
type attempt struct {
	lock    *Lock
	library *api.Lock
	wire    *wire
	key     string
	ttl     time.Duration
}

// failed classes the error of api.Lock, which is nil when it was told to stop. Without
// a session there is nothing that can hold the key. With one, it holds it perhaps; the
// library has begun to destroy it, and does not tell how that went.
func (a *attempt) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	session, refusal := a.wire.made()
	switch {
	case refusal != nil:
		return lock.Definite(errRefused, refusal)
	case session == "":
		return err
	}
	return &lock.Unsettled{Err: err, Settle: a.destroy}
}

// drawToken reads the token, which counts if the key is ours.
func (a *attempt) drawToken(ctx context.Context) (int64, error) {
	session, _ := a.wire.made()
	pair, _, err := a.lock.client.KV().Get(a.key, consistent(ctx))
	if err != nil {
		a.giveUp()
		return 0, &lock.Unsettled{Err: fmt.Errorf("read token: %w", err), Settle: a.destroy}
	}
	if pair == nil || pair.Session != session {
		a.giveUp()
		return 0, lock.Definite(histories.ErrLost, errors.New("the key is not ours any more"))
	}
	return int64(pair.ModifyIndex), nil
}

// giveUp ends the renewals. The unlock that is the only way to that does not wait.
func (a *attempt) giveUp() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	a.wire.bind(ended)
	a.library.Unlock()
}

// destroy ends the session. The server answers alike whether there was one or not.
func (a *attempt) destroy(ctx context.Context) error {
	session, _ := a.wire.made()
	if _, err := a.lock.client.Session().Destroy(session, new(api.WriteOptions).WithContext(ctx)); err != nil {
		return fmt.Errorf("destroy session %s: %w", session, err)
	}
	return nil
}

// lease is one hold.
type lease struct {
	*attempt
	token    int64
	session  string
	watch    <-chan struct{} // the library's: closed at a loss and after a release
	lost     chan struct{}
	released atomic.Bool
	turn     chan struct{} // to release: one at a time
	over     bool          // a release was answered; whose turn it is may look
}

var _ lock.Lease = (*lease)(nil)

func newLease(a *attempt, token int64, watch <-chan struct{}) *lease {
	l := &lease{attempt: a, token: token, watch: watch, lost: make(chan struct{}), turn: make(chan struct{}, 1)}
	l.session, _ = a.wire.made()
	go func() {
		<-watch
		if !l.released.Load() && a.lock.open.Err() == nil {
			close(l.lost)
		}
	}()
	return l
}

// Token is the ModifyIndex of the key.
func (l *lease) Token() (int64, bool) { return l.token, true }

// TTL is what was asked for: the server takes it as it is, or refuses.
func (l *lease) TTL() time.Duration { return l.ttl }

// Session is the id of the session.
func (l *lease) Session() string { return l.session }

// Held tells whether the library still watches the key.
func (l *lease) Held() bool {
	select {
	case <-l.watch:
		return false
	default:
		return !l.released.Load()
	}
}

// Lost is closed when the library has closed the channel that Lock returned.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Ask asks the leader whether the key is our session's.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	pair, _, err := l.attempt.lock.client.KV().Get(l.key, consistent(ctx))
	if err != nil {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	return pair != nil && pair.Session == l.session, nil
}

// Release unlocks, after which the library destroys the session.
//
// api.Lock's Unlock answers ok also when there was nothing to unlock: it throws the
// server's answer away. It is read off the wire here. If there was none, the session is
// destroyed, which ends the hold for sure; whether there still was one is then not
// known, and an ok says no more than that there is none now.
func (l *lease) Release(ctx context.Context) error {
	l.released.Store(true)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fmt.Errorf("release: %w", ctx.Err())
	}
	if l.over {
		return lock.Definite(histories.ErrLost, api.ErrLockNotHeld)
	}
	l.wire.bind(ctx)
	err := l.library.Unlock()
	switch answer := l.wire.unlockAnswer(); {
	case err == nil && answer == "true":
		l.over = true
		return nil
	case err == nil && answer == "false":
		l.over = true
		return lock.Definite(histories.ErrLost, errors.New("release: the key was not ours"))
	case ctx.Err() != nil:
		return fmt.Errorf("release: %w", ctx.Err())
	}
	if err := l.destroy(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	l.over = true
	return nil
}
