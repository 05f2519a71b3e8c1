package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

// lease is one hold: the key of a lock and the session that carries it.
type lease struct {
	*attempt
	key      string
	token    int64
	lost     chan struct{}
	released atomic.Bool

	mu     sync.Mutex // guards recipe
	recipe recipe
}

var (
	_ lock.Lease = (*lease)(nil)
	_ lock.Keyed = (*lease)(nil)
)

func newLease(l *Lock, a *attempt, r recipe) *lease {
	held := &lease{attempt: a, recipe: r, lost: make(chan struct{})}
	held.key, held.token = r.granted()
	go func() {
		<-a.session.Done()
		if !held.released.Load() && !l.closing.Load() {
			close(held.lost)
		}
	}()
	return held
}

// Key is the lock key. It hangs on the session, and its create revision is the token.
func (l *lease) Key() string { return l.key }

// Token is the create revision of the lock key.
func (l *lease) Token() (int64, bool) { return l.token, true }

// TTL is what the server granted.
func (l *lease) TTL() time.Duration { return l.ttl }

// Session is the etcd lease.
func (l *lease) Session() string { return sessionName(l.session.Lease()) }

// Held tells whether the client still keeps the session. It sees a loss when a
// keepalive says so or when its own deadline, counted from the last answer, has
// passed; it looks once a second.
func (l *lease) Held() bool {
	select {
	case <-l.session.Done():
		return false
	default:
		return !l.released.Load()
	}
}

// Ask asks whether the lock key is still the one that was granted.
func (l *lease) Ask(ctx context.Context) (bool, error) {
	same := clientv3.Compare(clientv3.CreateRevision(l.key), "=", l.token)
	answer, err := l.client.Txn(ours(ctx, nil)).If(same).Commit()
	if err != nil {
		return false, fmt.Errorf("ask for lock key: %w", err)
	}
	return answer.Succeeded, nil
}

// Lost is closed when the session ends without our doing.
func (l *lease) Lost() <-chan struct{} { return l.lost }

// Release unlocks and closes the session, as the documentation shows (with a
// context, which Session.Close does not take).
//
// Whether the lease was still there is told by the unlock, which deletes the lock
// key, and not by the revoke after it. Between the two the process can be stopped
// for as long as the lease lasts; the revoke then finds no lease, yet it was the
// unlock that let the next one in.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released.Store(true)
	unlocked := l.recipe.unlock(ctx)
	l.end()
	_, revoked := l.client.Revoke(ours(ctx, nil), l.session.Lease())
	if _, gone := lock.IsDefinite(unlocked); gone {
		return unlocked
	}
	if unlocked == nil || revoked == nil {
		return nil // the end of the lease deletes the key, too
	}
	// "Lease not found" is no definite no here: the unlock without an answer may
	// have deleted the key before the lease ended.
	return fmt.Errorf("release: %w", errors.Join(unlocked, revoked))
}
