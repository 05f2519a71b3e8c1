package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// Locks are the locks of a test binary, by the name that Config.Lock gives.
type Locks map[string]New

// Options is what a worker process has to connect with: the endpoints of Config, and
// a prefix that no other cell uses, with which every key must begin.
type Options = lock.Options

// New connects one worker process to the lock. Simple makes a Lock of two functions;
// whoever wants renewals on record, or has more to tell, implements lock.Lock.
type New = func(ctx context.Context, o Options) (lock.Lock, error)

// Hold is one hold of a lock, as Simple needs it. Release is required.
type Hold struct {
	Token    int64 // the fencing token, if HasToken
	HasToken bool
	TTL      time.Duration // that the store granted; 0: what was asked for
	Release  func(ctx context.Context) error
	// Held is the client's own opinion, without asking the store; nil: the ttl has not
	// passed since the acquire began.
	Held func() bool
	// Ask asks the store whether the lock is still ours; nil: as Held.
	Ask func(ctx context.Context) (bool, error)
	// Lost is closed when the client learns that the lease is gone; nil: it never does.
	Lost <-chan struct{}
}

// Held marks an error of acquire or release as a definite no: nothing of the attempt
// can still take the lock, or there was nothing left to release. Without the mark an
// error may mean anything, and the history says so.
func Held(err error) error { return lock.Definite(histories.ErrHeld, err) }

// Gone marks an error of release as a definite no: the lease was lost before.
func Gone(err error) error { return lock.Definite(histories.ErrLost, err) }

// Acquire takes the lock of that key, or waits until ctx ends. The key begins with the
// prefix.
type Acquire func(ctx context.Context, key string, ttl time.Duration) (*Hold, error)

// Simple makes a lock of a function that acquires, and one that closes the client (nil:
// nothing to close). If acquire fails without a mark (see Held), its key is left alone
// until the ttl has passed: nobody knows whether it was taken.
func Simple(o Options, acquire Acquire, closing func() error) lock.Lock {
	return &simple{prefix: o.Prefix, acquire: acquire, closing: closing}
}

type simple struct {
	prefix  string
	acquire Acquire
	closing func() error
}

func (s *simple) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	began := time.Now()
	h, err := s.acquire(ctx, s.prefix+name, ttl)
	switch {
	case err == nil && h == nil:
		return nil, errors.New("acquire: neither a hold nor an error")
	case err == nil && h.Release == nil:
		return nil, errors.New("acquire: a hold without Release")
	}
	if _, definite := lock.IsDefinite(err); err != nil && !definite {
		return nil, &lock.Unsettled{Err: err, Settle: func(context.Context) error {
			return fmt.Errorf("release: unknown whether there is anything: %w", err)
		}}
	}
	if err != nil {
		return nil, err
	}
	point.Reach(ctx, histories.PointLocked)
	if h.TTL == 0 {
		h.TTL = ttl
	}
	return &lease{hold: h, until: began.Add(h.TTL)}, nil
}

func (s *simple) Close() error {
	if s.closing == nil {
		return nil
	}
	return s.closing()
}

// lease fills in what a Hold leaves out.
type lease struct {
	hold  *Hold
	until time.Time

	mu       sync.Mutex
	released bool
}

func (l *lease) Token() (int64, bool)  { return l.hold.Token, l.hold.HasToken }
func (l *lease) TTL() time.Duration    { return l.hold.TTL }
func (l *lease) Session() string       { return "" }
func (l *lease) Lost() <-chan struct{} { return l.hold.Lost }

func (l *lease) Held() bool {
	l.mu.Lock()
	released := l.released
	l.mu.Unlock()
	switch {
	case released:
		return false
	case l.hold.Held != nil:
		return l.hold.Held()
	}
	return time.Now().Before(l.until)
}

func (l *lease) Ask(ctx context.Context) (bool, error) {
	if l.hold.Ask == nil {
		return l.Held(), nil
	}
	return l.hold.Ask(ctx)
}

func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	l.released = true
	l.mu.Unlock()
	return l.hold.Release(ctx)
}
