// Package pgsession is a PostgreSQL client as a lock or a resource needs it to say
// for sure what happened: one session at a time, one statement in flight, each
// statement one request in autocommit, and nothing sent twice.
//
// It is pgx without a pool and without prepared statements (QueryExecModeExec: parse,
// bind, execute and sync leave in one write). pgx itself retries nothing on a single
// connection; what it does on its own is to send a cancel request for a statement
// whose context ended, and to close that connection.
package pgsession

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	dialTimeout = 5 * time.Second // unless the endpoint says connect_timeout
	hangUpLimit = time.Second     // for the word of farewell
)

// ErrNoRows is a definite answer: the statement was done, and it had no row.
var ErrNoRows = pgx.ErrNoRows

// ErrOver is the error of a [Single] whose session is over. Nothing was sent.
var ErrOver = errors.New("the session is over")

// Unanswered is a statement that was sent, and whether it was done nobody knows: it
// may even be done later, for as long as the session lives.
type Unanswered struct {
	Session ID
	Err     error
}

func (e *Unanswered) Error() string { return "no answer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Unanswered) Unwrap() error { return e.Err }

// Refused tells whether the server answered with an error, so that nothing of the
// statement was done and nothing will be. (A FATAL one says that the session ends;
// it may have been sent after the commit.)
func Refused(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.SeverityUnlocalized == "ERROR"
}

// Statement is one statement that yields at most one row.
type Statement struct {
	SQL  string
	Args []any
	Sent func() // called when the whole of it was handed to the kernel; may be nil
}

// Client has one session, and makes a new one when the last has broken. Calls from
// several goroutines wait for each other.
type Client struct {
	config *pgx.ConnConfig
	single bool
	slot   chan struct{} // one element: the right to use what follows
	conn   *pgx.Conn     // nil: connect first
	id     ID
}

// Connect connects to the server at the endpoint, a URL or another connection string
// of libpq's. A password belongs into the environment or ~/.pgpass, as libpq has it.
func Connect(ctx context.Context, endpoint string) (*Client, error) {
	return connect(ctx, endpoint, false)
}

// Single is like Connect, but the client never makes another session.
func Single(ctx context.Context, endpoint string) (*Client, error) {
	return connect(ctx, endpoint, true)
}

func connect(ctx context.Context, endpoint string, single bool) (*Client, error) {
	config, err := pgx.ParseConfig(endpoint)
	if err != nil {
		return nil, fmt.Errorf("connect to postgres: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = dialTimeout
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.RuntimeParams["application_name"] = "leasehold"
	// What the statements rely on, whatever the database's own default is.
	config.RuntimeParams["default_transaction_isolation"] = "read committed"
	c := &Client{config: config, single: single, slot: make(chan struct{}, 1)}
	config.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		return &tellingConn{Conn: conn}, nil
	}
	if err := c.dial(ctx); err != nil {
		return nil, err
	}
	c.slot <- struct{}{}
	return c, nil
}

// tellingConn tells when a statement has left. AfterNetConnect puts it above TLS,
// where one flush of the protocol's buffer, a whole statement with its sync, is one
// Write; and net.Conn's Write returns when all of it is with the kernel.
type tellingConn struct {
	net.Conn
	sent atomic.Pointer[func()] // to be called after the next write, if that is good
}

func (t *tellingConn) Write(b []byte) (int, error) {
	sent := t.sent.Swap(nil)
	n, err := t.Conn.Write(b)
	if sent != nil && err == nil {
		(*sent)()
	}
	return n, err
}

func (c *Client) dial(ctx context.Context) error {
	// A copy: pgx writes into what it is given.
	conn, err := pgx.ConnectConfig(ctx, c.config.Copy())
	if err != nil {
		return fmt.Errorf("connect to postgres: %w", err)
	}
	c.conn = conn
	if c.id, err = identify(ctx, conn); err != nil {
		c.hangUp()
		return fmt.Errorf("connect to postgres: %w", err)
	}
	return nil
}

// ID names the session, or the last one if it has broken.
func (c *Client) ID() ID {
	<-c.slot
	defer func() { c.slot <- struct{}{} }()
	return c.id
}

// Do does one statement and scans its row. The error is ErrNoRows, or one that is
// Refused, or an *Unanswered; any other says that nothing was sent.
func (c *Client) Do(ctx context.Context, st Statement, into ...any) error {
	return c.use(ctx, func() error {
		if st.Sent != nil {
			telling := c.conn.PgConn().Conn().(*tellingConn)
			telling.sent.Store(&st.Sent)
			defer telling.sent.Store(nil)
		}
		return c.conn.QueryRow(ctx, st.SQL, st.Args...).Scan(into...)
	})
}

// Script does several statements without arguments in one request and one transaction.
func (c *Client) Script(ctx context.Context, sql string) error {
	return c.use(ctx, func() error { return c.conn.PgConn().Exec(ctx, sql).Close() })
}

func (c *Client) use(ctx context.Context, do func() error) error {
	select {
	case <-c.slot:
		defer func() { c.slot <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.conn == nil || c.conn.IsClosed() {
		if c.single {
			return ErrOver
		}
		if err := c.dial(ctx); err != nil {
			return because(ctx, err)
		}
	}
	err := do()
	if err == nil || errors.Is(err, ErrNoRows) || Refused(err) {
		return err
	}
	c.hangUp()
	if pgconn.SafeToRetry(err) {
		return because(ctx, err)
	}
	return &Unanswered{Session: c.id, Err: because(ctx, err)}
}

// because prefers the context's reason to what it looks like on the connection.
func because(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

// hangUp ends the session.
func (c *Client) hangUp() {
	if c.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangUpLimit)
	defer cancel()
	c.conn.Close(ctx)
	c.conn = nil
}

// Over tells whether the connection is known to be broken.
func (c *Client) Over() bool {
	select {
	case <-c.slot:
		defer func() { c.slot <- struct{}{} }()
		return c.conn == nil || c.conn.IsClosed()
	default:
		return false // in use, hence there
	}
}

// Close ends the session, after the statement that is in flight.
func (c *Client) Close() {
	<-c.slot
	defer func() { c.slot <- struct{}{} }()
	c.hangUp()
}
