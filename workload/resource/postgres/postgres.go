// Package postgres is a protected resource in PostgreSQL: a row with a value, the
// highest token seen and a commit number.
//
// Every operation is one UPDATE of that row, in autocommit: a client that is stopped
// between two statements of a transaction would hold the row against everybody. Each
// operation, accepted or refused, takes the next commit number of its row.
//
// It is one atomic step under READ COMMITTED. An UPDATE that finds the row changed by
// another waits for that one and then computes everything anew, condition and new
// values, from the row as it was committed (EvalPlanQual); if the other one rolled
// back or only locked the row, what was computed still stands, as it depends on
// nothing but the row and the parameters. So the UPDATEs of a row form one sequence,
// each the successor of the one before it, and the numbers are dense.
//
// An endpoint is that of a server, a URL without secrets, with the name of a space
// behind it: postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable#run-7/cell-1.
// A space is the resources of one cell. Its fence stands in a table, where [Prepare]
// puts it and [Dial] finds it.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/internal/pgsession"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Endpoint names a space on a server.
func Endpoint(server, space string) string { return server + "#" + space }

// split undoes Endpoint.
func split(endpoint string) (server, space string, err error) {
	server, space, ok := strings.Cut(endpoint, "#")
	if !ok || space == "" {
		return "", "", errors.New("the endpoint names no space: want URL#SPACE")
	}
	return server, space, nil
}

// Client is a client of one space. It has one request in flight; calls from several
// goroutines wait for each other. A request without an answer is given up together
// with its connection and never sent again.
type Client struct {
	db    *pgsession.Client
	space string
	fence histories.Fence

	mu    sync.Mutex
	known map[string]bool // rows that exist
}

var _ resource.Resource = (*Client)(nil)
var _ resource.Factory = Dial

// Dial connects to a space that was prepared.
func Dial(ctx context.Context, endpoint string) (resource.Resource, error) {
	server, space, err := split(endpoint)
	if err != nil {
		return nil, fmt.Errorf("dial postgres resource: %w", err)
	}
	db, err := pgsession.Connect(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("dial postgres resource: %w", err)
	}
	c := &Client{db: db, space: space, known: map[string]bool{}}
	var fence string
	err = db.Do(ctx, pgsession.Statement{
		SQL: `SELECT fence FROM leasehold_space WHERE space = $1::text`, Args: []any{space},
	}, &fence)
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("dial postgres resource: find space %s: %w", space, err)
	}
	c.fence = histories.Fence(fence)
	return c, nil
}

// Close closes the connection. A later operation connects anew.
func (c *Client) Close() error {
	c.db.Close()
	return nil
}

// operate is every operation. Its parameters: space, name; $3 the token, or null; $4
// whether the fence looks at operations of this kind; $5 the value to write, or null.
//
// In RETURNING highest is the new one. It tells whether the operation was refused: an
// accepted one has raised it to its own token, or it was there already, and a refused
// one has left it above. greatest passes over nulls; a comparison with null is null,
// and takes the ELSE.
const operate = `UPDATE leasehold_resource SET
	seq = seq + 1,
	highest = CASE WHEN $4::bool THEN greatest(highest, $3::bigint) ELSE highest END,
	value = CASE WHEN $5::bytea IS NULL OR $4::bool AND ($3::bigint IS NULL OR $3::bigint < highest)
		THEN value ELSE $5::bytea END
	WHERE space = $1::text AND name = $2::text
	RETURNING seq, coalesce(highest, 0),
		CASE WHEN $5::bytea IS NULL THEN value ELSE '' END,
		coalesce($4::bool AND ($3::bigint < highest OR $3::bigint IS NULL AND $5::bytea IS NOT NULL), false)`

// Open announces a token.
func (c *Client) Open(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	a, err := c.do(ctx, "open", name, token, c.fence == histories.FenceAll, nil, nil)
	a.Value = ""
	return a, err
}

// Read returns the value.
func (c *Client) Read(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	return c.do(ctx, "read", name, token, c.fence == histories.FenceAll, nil, nil)
}

// Write replaces the value. The point "sent" is reached when the whole statement is
// with the kernel (see pgsession), in this goroutine.
func (c *Client) Write(ctx context.Context, name string, token resource.Token, value string) (resource.Answer, error) {
	sent := func() { point.Reach(ctx, histories.PointSent) }
	return c.do(ctx, "write", name, token, c.fence != histories.FenceOff, append([]byte{}, value...), sent)
}

func (c *Client) do(ctx context.Context, verb, name string, token resource.Token, fenced bool, value []byte, sent func()) (resource.Answer, error) {
	fail := func(err error) (resource.Answer, error) {
		return resource.Answer{}, fmt.Errorf("%s postgres resource %s: %w", verb, name, err)
	}
	if err := c.ensure(ctx, name); err != nil {
		return fail(err)
	}
	var sentToken, sentValue any // null
	if t, known := token.Get(); known {
		sentToken = t
	}
	if value != nil {
		sentValue = value
	}
	var seq, highest int64
	var got []byte
	var refused bool
	err := c.db.Do(ctx, pgsession.Statement{
		SQL: operate, Args: []any{c.space, name, sentToken, fenced, sentValue}, Sent: sent,
	}, &seq, &highest, &got, &refused)
	if err != nil {
		return fail(err)
	}
	if refused {
		return resource.Answer{}, &resource.Refused{Seq: histories.Some(seq), Highest: highest}
	}
	return resource.Answer{Value: string(got), Seq: histories.Some(seq)}, nil
}

// ensure makes the row of a resource that was not prepared, once. That is not an
// operation: it changes nothing that one could see.
func (c *Client) ensure(ctx context.Context, name string) error {
	c.mu.Lock()
	known := c.known[name]
	c.mu.Unlock()
	if known {
		return nil
	}
	var seq int64
	err := c.db.Do(ctx, pgsession.Statement{SQL: insert, Args: []any{c.space, name, []byte{}}}, &seq)
	if err != nil && !errors.Is(err, pgsession.ErrNoRows) {
		return err
	}
	c.mu.Lock()
	c.known[name] = true
	c.mu.Unlock()
	return nil
}

// insert makes a row, if it is not there.
const insert = `INSERT INTO leasehold_resource VALUES ($1::text, $2::text, $3::bytea, null, 0)
	ON CONFLICT DO NOTHING RETURNING seq`
