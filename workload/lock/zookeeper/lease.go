package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// lease is one hold: a lock node and the session that carries it.
type lease struct {
	lock    *Lock
	session *session
	recipe  recipe
	lost    chan struct{}

	mu       sync.Mutex
	ending   bool // Release was called
	over     bool // it has been answered
	doubtful bool // a delete got no answer
}

var _ lock.Lease = (*lease)(nil)

func newLease(l *Lock, s *session, r recipe) *lease {
	held := &lease{lock: l, session: s, recipe: r, lost: make(chan struct{})}
	go func() {
		select {
		case <-s.expired:
			held.mu.Lock()
			defer held.mu.Unlock()
			if !held.ending {
				close(held.lost)
			}
		case <-s.dropped:
		}
	}()
	return held
}

// Token is the czxid of the own node, if the recipe knows it.
func (l *lease) Token() (int64, bool) { return l.recipe.token() }

// TTL is the session timeout that the server negotiated.
func (l *lease) TTL() time.Duration { return l.session.answer().timeout }

// Session is the session, in hex, as the server logs it.
func (l *lease) Session() string { return l.session.name() }

// Held tells whether the client is connected in its session, as far as it has noticed.
// While it is not, a careful user does not rely on the lock.
func (l *lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ending && !l.session.hasExpired() && l.session.conn.State() == zk.StateHasSession
}

// Lost is closed when a server tells that the session has expired.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Ask asks, after a sync, whether the own node is there; for zk.Lock, whether the first
// node in the queue is the session's.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	id := l.session.answer().id
	holds, err := await(ctx, func() (bool, error) { return l.recipe.holds(l.lock.asker, id) })
	if err != nil {
		return false, fmt.Errorf("ask for lock node: %w", err)
	}
	return holds, nil
}

// Release deletes the own node and closes the session.
//
// Whether the lease was still there is told by the delete. Between the two the process
// can be stopped for longer than the session lasts; that the session is gone then does
// not mean that there was nothing to release. Only if no delete was sent does it.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ending = true
	if l.over {
		return lock.Definite(histories.ErrLost, errors.New("release: there is no lease any more"))
	}
	defer l.lock.forget(l.session)
	err := l.release(ctx)
	if _, definite := lock.IsDefinite(err); err == nil || definite {
		l.over = true
	}
	return err
}

// release needs mu.
func (l *lease) release(ctx context.Context) error {
	err := ctx.Err()
	if err == nil && l.session.isShut() {
		err = errShut
	}
	if err == nil {
		_, err = await(ctx, func() (struct{}, error) { return struct{}{}, l.recipe.remove() })
		switch {
		case err == nil:
			l.session.close(ctx)
			return nil
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired):
			l.session.close(ctx)
			return l.gone(err)
		}
		l.doubtful = l.doubtful || !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, errShut)
	}
	// The end of the session deletes the node, too.
	l.session.drop()
	ended := l.session.end(ctx)
	switch {
	case ended == nil:
		return nil
	case errors.Is(ended, errGone):
		return l.gone(ended)
	}
	return fmt.Errorf("release: %w", errors.Join(err, ended))
}

// gone is what it means that there was nothing to release.
func (l *lease) gone(err error) error {
	if l.doubtful {
		return fmt.Errorf("release: the delete got no answer, and then: %w", err)
	}
	return lock.Definite(histories.ErrLost, fmt.Errorf("release: %w", err))
}
