package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// advisory is the session-level advisory lock.
type advisory struct {
	control  *pgsession.Client // asks, and ends sessions; holds no lock
	endpoint string
	prefix   string
	listener lock.Listener
	sequence bool

	mu    sync.Mutex
	holds map[*advisoryLease]bool // open sessions
}

var (
	_ lock.Lock    = (*advisory)(nil)
	_ lock.Factory = NewAdvisory
	_ lock.Factory = NewAdvisorySequence
)

// NewAdvisory connects to PostgreSQL. The lock is pg_advisory_lock on a hash of the
// name, waited for inside the server. It has no token and no time to live: it ends
// with pg_advisory_unlock or with its session, and a stopped holder's session does not
// end, as the kernel goes on to answer for it. The fault for it is [KillSession].
//
// Each hold has a connection of its own: two holds of one session could not be told
// apart, and the server would grant the same lock to one session twice. Nobody tells
// the holder of a loss (Lost is nil): pgx notices at the next statement on that
// connection, and a holder that works on its resource makes none. The session's name
// is the pid of the backend and the time at which it began.
func NewAdvisory(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return newAdvisory(ctx, o, false)
}

// NewAdvisorySequence is NewAdvisory with a token: nextval of a sequence, drawn by the
// session that holds the lock, right after it was granted. A session that was killed
// in between draws none, so that tokens grow from grant to grant.
func NewAdvisorySequence(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return newAdvisory(ctx, o, true)
}

func newAdvisory(ctx context.Context, o lock.Options, sequence bool) (lock.Lock, error) {
	control, err := connect(ctx, o.Endpoints)
	if err != nil {
		return nil, err
	}
	return &advisory{
		control: control, endpoint: o.Endpoints[0], prefix: o.Prefix, listener: o.Listener,
		sequence: sequence, holds: map[*advisoryLease]bool{},
	}, nil
}

// Close closes all connections, which ends the sessions and with them the locks.
func (a *advisory) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.holds {
		l.db.Close()
	}
	a.control.Close()
	return nil
}

// Acquire takes the lock in a new session. The ttl means nothing to it.
func (a *advisory) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	if ttl < 0 {
		return nil, fmt.Errorf("acquire %s: %w", name, lock.Definite(errRefused, fmt.Errorf("ttl of %v", ttl)))
	}
	db, err := pgsession.Single(ctx, a.endpoint)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: begin session: %w", name, err)
	}
	l := &advisoryLease{lock: a, db: db, id: db.ID(), key: hash(a.prefix + name)}
	a.listener.Began(l.Session())
	if err := l.take(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("acquire %s: %w", name, err)
	}
	a.mu.Lock()
	a.holds[l] = true
	a.mu.Unlock()
	return l, nil
}

// hash is the number of a lock. Advisory locks have no names.
func hash(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// advisoryLease is one hold, and the session that is it.
type advisoryLease struct {
	lock  *advisory
	db    *pgsession.Client
	id    pgsession.ID
	key   int64
	token int64

	mu       sync.Mutex // for the release
	released bool
}

var _ lock.Lease = (*advisoryLease)(nil)

// take takes the lock and draws the token. Whatever was sent may still be done, and a
// lock without a token is held, as long as the session is there.
func (l *advisoryLease) take(ctx context.Context) error {
	granted := false
	err := l.db.Do(ctx, pgsession.Statement{
		SQL: `SELECT true FROM pg_advisory_lock($1::bigint)`, Args: []any{l.key},
	}, &granted)
	if _, open := unsettled(err); err != nil && !open {
		return classed(err)
	}
	if err == nil {
		point.Reach(ctx, histories.PointLocked)
		err = l.draw(ctx)
	}
	if err != nil {
		return &lock.Unsettled{Err: err, Settle: func(ctx context.Context) error { return kill(ctx, l.lock.control, l.id) }}
	}
	return nil
}

func (l *advisoryLease) draw(ctx context.Context) error {
	if !l.lock.sequence {
		return nil
	}
	if err := l.db.Do(ctx, pgsession.Statement{SQL: `SELECT nextval('leasehold_token')`}, &l.token); err != nil {
		return fmt.Errorf("draw token: %w", err)
	}
	return nil
}

// Token is the number drawn from the sequence, if that was asked for.
func (l *advisoryLease) Token() (int64, bool) { return l.token, l.lock.sequence }

// TTL is 0: the lock does not run out.
func (l *advisoryLease) TTL() time.Duration { return 0 }

// Session is the backend, for KillSession.
func (l *advisoryLease) Session() string { return l.id.String() }

// Lost is nil: nobody tells.
func (l *advisoryLease) Lost() <-chan struct{} { return nil }

// Held tells whether the connection is not known to be broken.
func (l *advisoryLease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.released && !l.db.Over()
}

// Ask looks, from another session, whether this one holds the lock.
func (l *advisoryLease) Ask(ctx context.Context) (bool, error) {
	holds, err := l.lock.control.Holds(ctx, l.id, l.key)
	if err != nil {
		return false, fmt.Errorf("ask for advisory lock: %w", err)
	}
	return holds, nil
}

// Release unlocks, in the session that locked, and ends the session.
//
// It asks first. A dead connection alone would not tell whether the lock had been
// lost before, or whether it was our unlock that let the next one in and its answer
// that was cut off.
func (l *advisoryLease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	holds, err := l.Ask(ctx)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if !holds {
		l.end()
		return fmt.Errorf("release: %w", lock.Definite(histories.ErrLost, errors.New("the session does not hold the lock")))
	}
	if err := l.unlock(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	l.end()
	return nil
}

func (l *advisoryLease) unlock(ctx context.Context) error {
	var unlocked bool
	err := l.db.Do(ctx, pgsession.Statement{
		SQL: `SELECT pg_advisory_unlock($1::bigint)`, Args: []any{l.key},
	}, &unlocked)
	switch {
	case errors.Is(err, pgsession.ErrOver):
		// An earlier release broke the connection, and the server has not noticed.
		_, err := l.lock.control.Kill(ctx, l.id)
		return err
	case err == nil && !unlocked:
		return lock.Definite(histories.ErrLost, errors.New("pg_advisory_unlock: not held"))
	}
	return err
}

// end ends the session, which holds nothing any more.
func (l *advisoryLease) end() {
	l.db.Close()
	l.lock.mu.Lock()
	delete(l.lock.holds, l)
	l.lock.mu.Unlock()
}
