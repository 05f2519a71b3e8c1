package pgsession

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// look is how often it is looked whether a session has ended.
const look = 5 * time.Millisecond

// ID names a session for ever: the pid of its backend, which the kernel uses again,
// and the time at which that began, in µs.
type ID struct{ PID, Start int64 }

// String is "pid@start".
func (id ID) String() string { return fmt.Sprintf("%d@%d", id.PID, id.Start) }

// ParseID reads what String wrote.
func ParseID(text string) (ID, error) {
	var id ID
	if n, err := fmt.Sscanf(text, "%d@%d", &id.PID, &id.Start); n != 2 || err != nil || id.String() != text {
		return ID{}, fmt.Errorf("parse session %.60q: want pid@start", text)
	}
	return id, nil
}

// start is the time of a backend's begin as a number. (round: before PostgreSQL 14
// extract yields a float.)
const start = `round(extract(epoch FROM backend_start) * 1000000)::bigint`

func identify(ctx context.Context, conn *pgx.Conn) (ID, error) {
	var id ID
	err := conn.QueryRow(ctx, `SELECT pid::bigint, `+start+` FROM pg_stat_activity WHERE pid = pg_backend_pid()`).
		Scan(&id.PID, &id.Start)
	if err != nil {
		return ID{}, fmt.Errorf("ask for the session's name: %w", err)
	}
	return id, nil
}

// Kill ends another session of the same role and returns when it is gone, and with
// it its locks and whatever it had not committed. existed is false if it was gone
// before. It does not mistake another session with the same pid for it.
func (c *Client) Kill(ctx context.Context, id ID) (existed bool, err error) {
	args := []any{id.PID, id.Start}
	var killed bool
	err = c.Do(ctx, Statement{SQL: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid = $1::bigint AND ` + start + ` = $2::bigint`, Args: args}, &killed)
	if errors.Is(err, ErrNoRows) {
		return false, nil
	}
	for err == nil {
		var there int
		err = c.Do(ctx, Statement{SQL: `SELECT 1 FROM pg_stat_activity
			WHERE pid = $1::bigint AND ` + start + ` = $2::bigint`, Args: args}, &there)
		if errors.Is(err, ErrNoRows) {
			return true, nil
		}
		if err == nil {
			err = sleep(ctx, look)
		}
	}
	return true, fmt.Errorf("end session %v: %w", id, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Holds tells whether a session of the same role holds the session-level advisory
// lock with the key. It may be another session than the client's.
func (c *Client) Holds(ctx context.Context, id ID, key int64) (bool, error) {
	var holds bool
	err := c.Do(ctx, Statement{SQL: `SELECT EXISTS (
		SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
		WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND (classid::bigint << 32 | objid::bigint) = $3::bigint
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND pid = $1::bigint AND ` + start + ` = $2::bigint)`,
		Args: []any{id.PID, id.Start, key}}, &holds)
	return holds, err
}
