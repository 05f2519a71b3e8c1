package driver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

const (
	initLimit    = time.Minute            // for describe and init
	acquireWait  = 500 * time.Millisecond // one acquire request waits so long for the lock
	acquireLimit = time.Minute            // for its answer beyond that; a pause may come in between
)

// ownLog is where this process' own standard error goes: a driver's words belong there.
const ownLog = "/proc/self/fd/2"

// Connect makes a lock.Factory of a command that runs a driver. name tells the worker
// processes apart.
func Connect(command, name string) lock.Factory {
	return func(ctx context.Context, o lock.Options) (lock.Lock, error) {
		l := &driverLock{prefix: o.Prefix, listener: o.Listener, held: map[string]*lease{}}
		var err error
		if l.client, err = start(ctx, child.NewStarter(), command, ownLog, l.told); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, initLimit)
		defer cancel()
		d, err := describe(ctx, l.client)
		if err == nil {
			l.canAsk = d.CanAsk
			err = initialize(ctx, l.client, Request{Worker: name, Endpoints: o.Endpoints, Prefix: o.Prefix})
		}
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
}

func initialize(ctx context.Context, c *client, r Request) error {
	r.Op = OpInit
	a, err := c.call(ctx, r)
	if err != nil {
		return err
	}
	if !*a.OK {
		return fmt.Errorf("driver: init failed: %s: %s", a.Err, a.Text)
	}
	return nil
}

type driverLock struct {
	client   *client
	prefix   string
	listener lock.Listener
	canAsk   bool

	mu   sync.Mutex
	held map[string]*lease // by key
}

var (
	_ lock.Lock      = (*driverLock)(nil)
	_ lock.Companion = (*driverLock)(nil)
)

// Acquire asks again and again, each time for a short wait: a request can't be taken back.
func (l *driverLock) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	key := l.prefix + name
	for {
		p, err := l.client.send(Request{Op: OpAcquire, Key: key, TTLMS: ttl.Milliseconds(), WaitMS: acquireWait.Milliseconds()})
		if err != nil {
			return nil, l.unsettled(nil, key, err)
		}
		limited, cancel := context.WithTimeout(ctx, acquireWait+acquireLimit)
		a, err := p.wait(limited)
		cancel()
		if err != nil {
			return nil, l.unsettled(p, key, err)
		}
		if *a.OK {
			return l.granted(ctx, key, ttl, a)
		}
		if err := noOf(a); ctx.Err() != nil || a.Err != "held" || !a.Definite {
			return nil, l.settledOr(a, key, err)
		}
	}
}

func (l *driverLock) granted(ctx context.Context, key string, ttl time.Duration, a *Response) (lock.Lease, error) {
	token, has, err := a.token()
	if err != nil {
		l.client.fail(faultf("the answer to acquire: %w", err))
		return nil, l.unsettled(nil, key, err)
	}
	point.Reach(ctx, histories.PointLocked)
	if a.TTLMS > 0 {
		ttl = time.Duration(a.TTLMS) * time.Millisecond
	}
	h := &lease{lock: l, key: key, token: token, hasToken: has, ttl: ttl, session: a.Session, lost: make(chan struct{})}
	l.mu.Lock()
	l.held[key] = h
	l.mu.Unlock()
	return h, nil
}

// unsettled is an acquire without an answer. If one comes yet, and it is a grant, it is
// given back.
func (l *driverLock) unsettled(p *pending, key string, cause error) error {
	return &lock.Unsettled{Err: cause, Settle: func(ctx context.Context) error {
		if p != nil {
			if a, err := p.wait(ctx); err == nil && !*a.OK && a.Definite {
				return lock.Definite(histories.ErrLost, noOf(a))
			}
		}
		return l.release(ctx, key)
	}}
}

// settledOr is a refused acquire: definite if the driver says so.
func (l *driverLock) settledOr(a *Response, key string, err error) error {
	if a.Definite {
		return err
	}
	return l.unsettled(nil, key, err)
}

// noOf is the error that an answer stands for.
func noOf(a *Response) error {
	err := errors.New(a.Err)
	if a.Text != "" {
		err = fmt.Errorf("%s: %s", a.Err, a.Text)
	}
	if word, known := errWords[a.Err]; known && a.Definite {
		return lock.Definite(word, err)
	}
	if a.Definite {
		return lock.Definite(histories.ErrHeld, err)
	}
	return err
}

func (l *driverLock) release(ctx context.Context, key string) error {
	a, err := l.client.call(ctx, Request{Op: OpRelease, Key: key})
	if err != nil {
		return err
	}
	if !*a.OK {
		return noOf(a)
	}
	return nil
}

// told takes what the driver tells on its own. Events are recorded when they are
// received, never earlier: a loss that is told late is no untruth, and a renewal that
// is recorded late would be one, since its promise would seem longer than it was. So
// renewals are not recorded; promises are then shorter than the truth, which is sound.
func (l *driverLock) told(r *Response) error {
	l.mu.Lock()
	h := l.held[r.Key]
	l.mu.Unlock()
	switch {
	case h == nil:
		return nil // it crossed the release
	case r.Event == EventLost:
		h.once.Do(func() { close(h.lost) })
	}
	return nil
}

// Halt stops the driver's process group.
func (l *driverLock) Halt(ctx context.Context) error { return l.client.halt(ctx) }

// Resume lets it go on.
func (l *driverLock) Resume() error { return l.client.resume() }

// Failed is what the driver did wrong, nil if nothing.
func (l *driverLock) Failed() error { return l.client.failed() }

// Close ends the driver.
func (l *driverLock) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*endLimit)
	defer cancel()
	return l.client.close(ctx)
}

type lease struct {
	lock     *driverLock
	key      string
	token    int64
	hasToken bool
	ttl      time.Duration
	session  string
	lost     chan struct{}
	once     sync.Once
}

func (h *lease) Token() (int64, bool)  { return h.token, h.hasToken }
func (h *lease) TTL() time.Duration    { return h.ttl }
func (h *lease) Session() string       { return h.session }
func (h *lease) Lost() <-chan struct{} { return h.lost }

// Held is the driver's own opinion.
func (h *lease) Held() bool {
	ctx, cancel := context.WithTimeout(context.Background(), acquireLimit)
	defer cancel()
	a, err := h.lock.client.call(ctx, Request{Op: OpCheck, Key: h.key})
	return err == nil && *a.OK && a.Held != nil && *a.Held
}

// Ask has the driver ask the store, if it can.
func (h *lease) Ask(ctx context.Context) (bool, error) {
	if !h.lock.canAsk {
		return h.Held(), nil
	}
	a, err := h.lock.client.call(ctx, Request{Op: OpAsk, Key: h.key})
	switch {
	case err != nil:
		return false, err
	case !*a.OK:
		return false, noOf(a)
	case a.Held == nil:
		return false, errors.New(`driver: the answer to ask does not say "held"`)
	}
	return *a.Held, nil
}

// Release gives the lease back.
func (h *lease) Release(ctx context.Context) error {
	h.lock.mu.Lock()
	delete(h.lock.held, h.key)
	h.lock.mu.Unlock()
	return h.lock.release(ctx, h.key)
}
