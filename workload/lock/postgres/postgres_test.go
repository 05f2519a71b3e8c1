package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
)

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func newLock(t *testing.T, factory lock.Factory, endpoint, prefix string) lock.Lock {
	t.Helper()
	l, err := factory(t.Context(), lock.Options{Endpoints: []string{endpoint}, Prefix: prefix, Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// fresh is a prefix that nobody else uses.
func fresh(t *testing.T) string { return fmt.Sprintf("%s/%d/", t.Name(), time.Now().UnixNano()) }

func rawConn(t *testing.T, endpoint string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// await polls until the query says true.
func await(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	for done := false; !done; {
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&done); err != nil {
			t.Fatal(err)
		}
	}
}

// endOwner ends a lease row by its owner.
func endOwner(endpoint string) func(context.Context, string) error {
	return func(ctx context.Context, session string) error {
		conn, err := pgx.Connect(ctx, endpoint)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, `UPDATE leasehold_lease SET expires = '-infinity' WHERE owner = $1`, session)
		return err
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	row := conformance.Suite{End: endOwner(endpoint), TTL: 600 * time.Millisecond, Tokens: true, Renews: true, Tells: true}
	session := conformance.Suite{End: func(ctx context.Context, s string) error { return KillSession(ctx, endpoint, s) }}
	for name, c := range map[string]struct {
		factory lock.Factory
		suite   conformance.Suite
		tokens  bool
	}{
		"row": {NewRow, row, true},
		// As long as no UPDATE waits, now() is as good as the clock.
		"row with now":           {NewRowNow, row, true},
		"advisory":               {NewAdvisory, session, false},
		"advisory with sequence": {NewAdvisorySequence, session, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.suite.New, c.suite.Endpoints, c.suite.Tokens = c.factory, []string{endpoint}, c.tokens
			conformance.Run(t, c.suite)
		})
	}
}

// Another transaction has the row while an acquire's UPDATE waits for it, for longer
// than the ttl.
func TestUpdateThatWaitsForTheRow(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	const changed, locked = `UPDATE leasehold_lease SET owner = owner WHERE name = $1`,
		`SELECT FROM leasehold_lease WHERE name = $1 FOR UPDATE`
	for name, c := range map[string]struct {
		factory lock.Factory
		other   string
		live    bool
	}{
		// The row was changed: looked at anew, with the time after the wait.
		"clock, changed": {NewRow, changed, true},
		// now() stood still: the lease ended before it was granted.
		"now, changed": {NewRowNow, changed, false},
		// The row was only locked: nothing is looked at anew, not even the clock.
		"clock, locked": {NewRow, locked, false},
		"now, locked":   {NewRowNow, locked, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ttl = 300 * time.Millisecond
			prefix := fresh(t)
			l, other, look := newLock(t, c.factory, endpoint, prefix), rawConn(t, endpoint), rawConn(t, endpoint)
			// The row is there, and free.
			first, err := l.Acquire(t.Context(), "L", ttl)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			exec(t, other, "BEGIN")
			exec(t, other, c.other, prefix+"L")
			granted := make(chan lock.Lease, 1)
			go func() {
				lease, err := l.Acquire(t.Context(), "L", ttl)
				if err != nil {
					t.Error(err)
				}
				granted <- lease
			}()
			// It waits, and has done so for longer than the ttl.
			await(t, look, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
				AND pg_blocking_pids(pid) @> ARRAY[$1::int]
				AND query_start + interval '400 milliseconds' < clock_timestamp())`, other.PgConn().PID())
			exec(t, other, "COMMIT")
			lease := <-granted
			if lease == nil {
				return
			}
			live := false
			err = look.QueryRow(t.Context(), `SELECT expires > clock_timestamp() FROM leasehold_lease WHERE name = $1 AND owner = $2`,
				prefix+"L", lease.Session()).Scan(&live)
			if err != nil {
				t.Fatal(err)
			}
			if live != c.live {
				t.Errorf("the granted lease is live: %t, want %t", live, c.live)
			}
		})
	}
}

// An acquire is cancelled while its UPDATE waits in the server. Whatever becomes of
// that, nothing of it has the lock once it is settled.
func TestSettle(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	prefix := fresh(t)
	l, other, look := newLock(t, NewRow, endpoint, prefix), rawConn(t, endpoint), rawConn(t, endpoint)
	first, err := l.Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, other, "BEGIN")
	exec(t, other, `SELECT FROM leasehold_lease WHERE name = $1 FOR UPDATE`, prefix+"L")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := l.Acquire(ctx, "L", time.Hour)
		ended <- err
	}()
	await(t, look, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pg_blocking_pids(pid) @> ARRAY[$1::int])`, other.PgConn().PID())
	cancel()
	var open *lock.Unsettled
	if err := <-ended; !errors.As(err, &open) || !errors.Is(err, context.Canceled) {
		t.Fatalf("not unsettled: %v", err)
	}
	err = open.Settle(t.Context())
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Fatalf("settle, while the row is another's: %v", err)
	}
	exec(t, other, "COMMIT")
	again, err := l.Acquire(t.Context(), "L", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if token, _ := again.Token(); token != 2 {
		t.Errorf("epoch %d: the cancelled acquire was done", token)
	}
}

// The answer to an UPDATE that was done is lost: settling ends what it took.
func TestSettleOfAGrant(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	prefix := fresh(t)
	r := newLock(t, NewRow, endpoint, prefix).(*row)
	lease, err := r.Acquire(t.Context(), "L", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.settle(t.Context(), pgsession.ID{PID: 1}, prefix+"L", lease.Session()); err != nil {
		t.Fatal(err)
	}
	if held, err := lease.Ask(t.Context()); held || err != nil {
		t.Errorf("%t, %v", held, err)
	}
}

// Renewals get no answer, as the row is another's: the lease is taken for lost when
// the ttl has passed by our clock.
func TestLostByTheClock(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	prefix := fresh(t)
	other := rawConn(t, endpoint)
	lease, err := newLock(t, NewRow, endpoint, prefix).Acquire(t.Context(), "L", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, other, "BEGIN")
	exec(t, other, `SELECT FROM leasehold_lease WHERE name = $1 FOR UPDATE`, prefix+"L")
	<-lease.Lost()
	if lease.Held() {
		t.Error("held, though lost")
	}
}

// A session is killed only by its full name.
func TestKillSession(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	lease, err := newLock(t, NewAdvisory, endpoint, fresh(t)).Acquire(t.Context(), "L", 0)
	if err != nil {
		t.Fatal(err)
	}
	pid, start, _ := strings.Cut(lease.Session(), "@")
	// Another backend that got the same pid began at another time.
	err = KillSession(t.Context(), endpoint, pid+"@1"+start)
	if _, definite := lock.IsDefinite(err); !definite {
		t.Fatalf("killed another session: %v", err)
	}
	if held, err := lease.Ask(t.Context()); !held || err != nil {
		t.Fatalf("%t, %v", held, err)
	}
	for _, nonsense := range []string{"", pid, pid + "@", "x@1", lease.Session() + " "} {
		if err := KillSession(t.Context(), endpoint, nonsense); err == nil {
			t.Errorf("took %q for a session", nonsense)
		}
	}
	if err := KillSession(t.Context(), endpoint, lease.Session()); err != nil {
		t.Fatal(err)
	}
	if held, err := lease.Ask(t.Context()); held || err != nil {
		t.Fatalf("%t, %v", held, err)
	}
}

// Many processes start at once on a database that has nothing yet.
func TestManyMakeTheSchema(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	admin := rawConn(t, endpoint)
	name := fmt.Sprintf("leasehold_test_%d", time.Now().UnixNano())
	exec(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
	database := strings.Replace(endpoint, "/postgres?", "/"+name+"?", 1)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			db, err := connect(t.Context(), []string{database})
			if err != nil {
				t.Error(err)
				return
			}
			db.Close()
		})
	}
	wg.Wait()
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	prefix := fresh(t)
	if _, err := newLock(t, NewRow, endpoint, prefix).Acquire(t.Context(), "L", time.Second); err != nil {
		t.Fatal(err)
	}
	for p, empty := range map[string]bool{prefix: false, prefix + "L": false, prefix + "M": true, prefix + "_": true, prefix + "%": true} {
		if err := Empty(t.Context(), []string{endpoint}, p); (err == nil) != empty {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	for _, endpoints := range [][]string{nil, {"postgres://127.0.0.1:1/x"}, {"postgres://127.0.0.1:1/x", "postgres://127.0.0.1:1/x"}, {"://"}} {
		if _, err := connect(t.Context(), endpoints); err == nil {
			t.Errorf("connected to %q", endpoints)
		}
	}
}

func TestMicros(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{1: 1, time.Microsecond: 1, time.Microsecond + 1: 2, time.Second: 1e6} {
		if got := micros(d); got != want {
			t.Errorf("%v: %d µs, want %d", d, got, want)
		}
	}
}
