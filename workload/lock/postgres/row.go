package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// row is the lease row. Its clock is the server's; no client's clock is compared
// with it.
type row struct {
	db       *pgsession.Client
	sql      statements
	prefix   string
	listener lock.Listener
	closed   chan struct{}
	closing  sync.Once

	mu    sync.Mutex
	known map[string]bool // rows that exist
}

var (
	_ lock.Lock    = (*row)(nil)
	_ lock.Factory = NewRow
	_ lock.Factory = NewRowNow
)

// NewRow connects to PostgreSQL. The lock is a row with an owner, an epoch and a
// time of expiry, taken by one conditional UPDATE as soon as it has expired:
//
//	UPDATE ... SET owner, epoch = epoch + 1, expires = clock_timestamp() + ttl
//	WHERE name AND expires < clock_timestamp() RETURNING epoch
//
// Waiting is polling. The token is the epoch. The adapter renews every third of the
// ttl, as users of such a row do with a goroutine of their own, and takes the lease
// for lost when a renewal is refused or when the ttl has passed, by its own clock,
// since the last good statement was sent.
//
// An UPDATE that waits for the row works with the time after the wait only if the
// row was changed meanwhile: then PostgreSQL looks at it anew (EvalPlanQual). If the
// other one merely locked it (SELECT ... FOR UPDATE) or rolled back, what was
// computed before the wait is written after it, clock_timestamp() and all.
func NewRow(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return newRow(ctx, o, "clock_timestamp()")
}

// NewRowNow is NewRow with now() for clock_timestamp(): known to be bad. now() is the
// time at which the transaction began, and stands still while the UPDATE waits for
// the row. Whoever waits longer than the ttl is granted a lease that has ended
// already, and the next one takes the lock at once (ShedLock's issue 132 is of this
// kind). It grants nothing early: counted from the acquire's invocation the lease is
// as long as it was asked for.
func NewRowNow(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return newRow(ctx, o, "now()")
}

func newRow(ctx context.Context, o lock.Options, clock string) (lock.Lock, error) {
	db, err := connect(ctx, o.Endpoints)
	if err != nil {
		return nil, err
	}
	return &row{
		db: db, sql: newStatements(clock), prefix: o.Prefix, listener: o.Listener,
		closed: make(chan struct{}), known: map[string]bool{},
	}, nil
}

// statements is what is said to the server. The parameters are name, owner, then
// epoch, then ttl in µs, as far as they occur.
type statements struct{ make, take, renew, release, settle, ask string }

func newStatements(clock string) statements {
	live := ` WHERE name = $1::text AND owner = $2::text AND epoch = $3::bigint AND expires > CLOCK`
	end := `UPDATE leasehold_lease SET expires = '-infinity'`
	s := statements{
		make: `INSERT INTO leasehold_lease VALUES ($1::text, '', 0, '-infinity') ON CONFLICT DO NOTHING RETURNING epoch`,
		take: `UPDATE leasehold_lease SET owner = $2::text, epoch = epoch + 1,
			expires = CLOCK + $3::bigint * interval '1 microsecond'
			WHERE name = $1::text AND expires < CLOCK RETURNING epoch`,
		renew: `UPDATE leasehold_lease SET expires = CLOCK + $4::bigint * interval '1 microsecond'` +
			live + ` RETURNING epoch`,
		release: end + live + ` RETURNING epoch`,
		settle:  end + ` WHERE name = $1::text AND owner = $2::text AND expires > CLOCK RETURNING epoch`,
		ask:     `SELECT epoch FROM leasehold_lease` + live,
	}
	for _, text := range []*string{&s.take, &s.renew, &s.release, &s.settle, &s.ask} {
		*text = strings.ReplaceAll(*text, "CLOCK", clock)
	}
	return s
}

// do does a statement on a row and returns its epoch.
func (r *row) do(ctx context.Context, sql string, args ...any) (epoch int64, err error) {
	err = r.db.Do(ctx, pgsession.Statement{SQL: sql, Args: args}, &epoch)
	return epoch, err
}

// Close stops all renewals and closes the connection. The leases run out.
func (r *row) Close() error {
	r.closing.Do(func() { close(r.closed) })
	r.db.Close()
	return nil
}

// Acquire polls until the row is taken. The owner is new with each acquire: should
// the answer not come, it tells later whose the lease is.
func (r *row) Acquire(ctx context.Context, name string, ttl time.Duration) (lock.Lease, error) {
	if ttl <= 0 {
		return nil, fmt.Errorf("acquire %s: %w", name, lock.Definite(errRefused, fmt.Errorf("ttl of %v", ttl)))
	}
	owner, key := rand.Text(), r.prefix+name
	r.listener.Began(owner)
	if err := r.ensure(ctx, key); err != nil {
		return nil, fmt.Errorf("acquire %s: make row: %w", name, classed(err))
	}
	for {
		sent := time.Now()
		epoch, err := r.do(ctx, r.sql.take, key, owner, micros(ttl))
		if err == nil {
			point.Reach(ctx, histories.PointLocked)
			return newRowLease(r, grant{key, owner, epoch, ttl}, sent), nil
		}
		if errors.Is(err, pgsession.ErrNoRows) {
			err = r.wait(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("acquire %s: %w", name, r.failed(err, key, owner))
		}
	}
}

// micros rounds up: never less than was asked for.
func micros(d time.Duration) int64 { return int64((d-1)/time.Microsecond) + 1 }

// ensure makes the row, free. It is not taken by that.
func (r *row) ensure(ctx context.Context, key string) error {
	r.mu.Lock()
	known := r.known[key]
	r.mu.Unlock()
	if known {
		return nil
	}
	if _, err := r.do(ctx, r.sql.make, key); err != nil && !errors.Is(err, pgsession.ErrNoRows) {
		return err
	}
	r.mu.Lock()
	r.known[key] = true
	r.mu.Unlock()
	return nil
}

func (r *row) wait(ctx context.Context) error {
	t := time.NewTimer(Poll)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed classes the error of an attempt. An UPDATE that was sent and not answered
// may take the row later: it may lie unread, or wait for the row.
func (r *row) failed(err error, key, owner string) error {
	session, open := unsettled(err)
	if !open {
		return classed(err)
	}
	return &lock.Unsettled{Err: err, Settle: func(ctx context.Context) error { return r.settle(ctx, session, key, owner) }}
}

// settle first ends the session that may yet take the row for the owner. Only then
// is it told for good whether it did.
func (r *row) settle(ctx context.Context, session pgsession.ID, key, owner string) error {
	if _, err := r.db.Kill(ctx, session); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if _, err := r.do(ctx, r.sql.settle, key, owner); err != nil {
		return fmt.Errorf("settle: %w", gone(err))
	}
	return nil
}

// gone makes a definite no of the answer that there was no such lease. An error of
// the server is no such answer.
func gone(err error) error {
	if errors.Is(err, pgsession.ErrNoRows) {
		return lock.Definite(histories.ErrLost, errors.New("the row has no such lease"))
	}
	return err
}
