package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// grant is what the row says of a lease.
type grant struct {
	key, owner string
	epoch      int64
	ttl        time.Duration
}

// rowLease is one hold of a row, renewed until it is released or lost.
type rowLease struct {
	row *row
	grant
	lost     chan struct{}
	released chan struct{}
	release  sync.Once
	turn     chan struct{} // one element: the right to renew or release

	mu    sync.Mutex
	until time.Time // by our clock; the server's end is never earlier
}

var _ lock.Lease = (*rowLease)(nil)

// newRowLease begins to keep a lease that was asked for at sent.
func newRowLease(r *row, g grant, sent time.Time) *rowLease {
	l := &rowLease{
		row: r, grant: g, until: sent.Add(g.ttl),
		lost: make(chan struct{}), released: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	l.turn <- struct{}{}
	go l.keep()
	return l
}

// Token is the epoch.
func (l *rowLease) Token() (int64, bool) { return l.epoch, true }

// TTL is what was asked for: the server takes it as it is.
func (l *rowLease) TTL() time.Duration { return l.ttl }

// Session is the owner, as it stands in the row.
func (l *rowLease) Session() string { return l.owner }

// Lost is closed when a renewal was refused, or the ttl has passed without a good one.
func (l *rowLease) Lost() <-chan struct{} { return l.lost }

// Held goes by our clock: the ttl has not passed since the last good statement was
// sent, and none was refused.
func (l *rowLease) Held() bool {
	select {
	case <-l.lost:
		return false
	case <-l.released:
		return false
	default:
		return time.Now().Before(l.deadline())
	}
}

// Ask asks for the row.
func (l *rowLease) Ask(ctx context.Context) (bool, error) {
	_, err := l.row.do(ctx, l.row.sql.ask, l.key, l.owner, l.epoch)
	if errors.Is(err, pgsession.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the row: %w", err)
	}
	return true, nil
}

// Release ends the lease if the row still has it.
func (l *rowLease) Release(ctx context.Context) error {
	l.release.Do(func() { close(l.released) })
	select {
	case <-l.turn:
		defer func() { l.turn <- struct{}{} }()
	case <-ctx.Done():
		return fmt.Errorf("release: %w", ctx.Err())
	}
	if _, err := l.row.do(ctx, l.row.sql.release, l.key, l.owner, l.epoch); err != nil {
		return fmt.Errorf("release: %w", gone(err))
	}
	return nil
}

func (l *rowLease) deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// keep renews until there is nothing to keep.
func (l *rowLease) keep() {
	for {
		t := time.NewTimer(min(l.ttl/3, time.Until(l.deadline())))
		select {
		case <-t.C:
		case <-l.released:
			t.Stop()
			return
		case <-l.row.closed:
			t.Stop()
			return
		}
		if !l.renew() {
			return
		}
	}
}

// renew renews once. It returns false when the lease is of no more use. A renewal
// without an answer is not sent again: the next one is a renewal of its own.
func (l *rowLease) renew() bool {
	until := l.deadline()
	if !time.Now().Before(until) {
		close(l.lost)
		return false
	}
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	select {
	case <-l.released:
		return false
	case <-l.row.closed:
		return false
	default:
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	answered := l.row.listener.Renewing(l.owner)
	sent := time.Now()
	_, err := l.row.do(ctx, l.row.sql.renew, l.key, l.owner, l.epoch, micros(l.ttl))
	if err = gone(err); err != nil {
		answered(0, fmt.Errorf("renew: %w", err))
		if _, lost := lock.IsDefinite(err); lost {
			close(l.lost)
			return false
		}
		return true
	}
	l.mu.Lock()
	l.until = sent.Add(l.ttl)
	l.mu.Unlock()
	answered(l.ttl, nil)
	return true
}
