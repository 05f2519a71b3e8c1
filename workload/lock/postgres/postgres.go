// Package postgres is two locks on PostgreSQL, as people write them with pgx
// (github.com/jackc/pgx/v5): a lease row ([NewRow]) and the session-level advisory
// lock ([NewAdvisory], [NewAdvisorySequence]). [NewRowNow] is the lease row with a
// well-known mistake in it.
//
// An endpoint is one URL without secrets, such as
// postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable; a password comes from
// PGPASSWORD or ~/.pgpass. Nothing is retried: there is no pool, no database/sql (both
// of which send statements again) and no prepared statement; every statement is one
// request in autocommit. The table and the sequence are made by the first who connects.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// What is known of the lease row without asking a server. (An advisory lock has no
// time to live; it waits inside the server and is granted the moment it is free.)
const (
	// LeastTTL is the shortest time to live worth asking for: renewed every third of
	// it, it leaves room for a few statements. The server takes any.
	LeastTTL = 100 * time.Millisecond
	// ExpirySlack is how late an expired lease is ended, at most: the row says to the
	// microsecond when, and a poll on an idle server takes a few milliseconds.
	ExpirySlack = 50 * time.Millisecond
	// LockDelay is how long the store keeps an ended lock from others.
	LockDelay = time.Duration(0)
	// Poll is how long a waiter may sleep while the lock is free.
	Poll = 50 * time.Millisecond
)

// errRefused is the error word for what the server refused to do.
const errRefused = "refused"

// schema makes what the locks need. CREATE ... IF NOT EXISTS alone fails when two
// do it at once: both see nothing, and one trips over the catalog's unique index.
// The number of the advisory lock that keeps them apart is of no meaning. All of it
// is one request and one transaction.
const schema = `
SELECT pg_advisory_xact_lock(7310293651);
CREATE TABLE IF NOT EXISTS leasehold_lease (
	name    text PRIMARY KEY,
	owner   text NOT NULL,        -- of the newest grant; unique to it
	epoch   bigint NOT NULL,      -- number of grants so far
	expires timestamptz NOT NULL  -- end of the newest grant
);
CREATE SEQUENCE IF NOT EXISTS leasehold_token;`

// connect connects to the one endpoint and makes the schema.
func connect(ctx context.Context, endpoints []string) (*pgsession.Client, error) {
	if len(endpoints) != 1 {
		return nil, fmt.Errorf("connect to postgres: %d endpoints, want one", len(endpoints))
	}
	db, err := pgsession.Connect(ctx, endpoints[0])
	if err != nil {
		return nil, err
	}
	if err := db.Script(ctx, schema); err != nil {
		db.Close()
		return nil, fmt.Errorf("make schema: %w", err)
	}
	return db, nil
}

// Empty proves that no lease row has the prefix. Anything else is an error. Of an
// advisory lock the store keeps nothing once its session has ended.
func Empty(ctx context.Context, endpoints []string, prefix string) error {
	db, err := connect(ctx, endpoints)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	defer db.Close()
	var rows int64
	err = db.Do(ctx, pgsession.Statement{
		SQL:  `SELECT count(*) FROM leasehold_lease WHERE left(name, length($1::text)) = $1::text`,
		Args: []any{prefix},
	}, &rows)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	if rows > 0 {
		return fmt.Errorf("look at prefix %s: not fresh: it holds %d lease rows", prefix, rows)
	}
	return nil
}

// KillSession ends a session, as an operator does with pg_terminate_backend, and
// returns when it is gone and its locks with it. The session is one of Lease.Session
// of an advisory lock: a backend that has got the same pid since is not touched. The
// error is lock.Definite if the session was gone before.
func KillSession(ctx context.Context, endpoint, session string) error {
	id, err := pgsession.ParseID(session)
	if err != nil {
		return err
	}
	db, err := pgsession.Connect(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("end session %s: %w", session, err)
	}
	defer db.Close()
	return kill(ctx, db, id)
}

func kill(ctx context.Context, db *pgsession.Client, id pgsession.ID) error {
	existed, err := db.Kill(ctx, id)
	if err == nil && !existed {
		return lock.Definite(histories.ErrLost, fmt.Errorf("session %v was gone", id))
	}
	return err
}

// classed marks what the server refused as a definite no.
func classed(err error) error {
	if pgsession.Refused(err) {
		return lock.Definite(errRefused, err)
	}
	return err
}

// unsettled tells whether a statement was sent and may be done yet, and by whom.
func unsettled(err error) (pgsession.ID, bool) {
	var u *pgsession.Unanswered
	if !errors.As(err, &u) {
		return pgsession.ID{}, false
	}
	return u.Session, true
}
