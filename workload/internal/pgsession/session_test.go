package pgsession

import (
	"context"
	"errors"
	"testing"
)

func client(t *testing.T, endpoint string, connect func(context.Context, string) (*Client, error)) *Client {
	t.Helper()
	c, err := connect(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestParseID(t *testing.T) {
	t.Parallel()
	want := ID{PID: 12, Start: 1700000000000001}
	if got, err := ParseID(want.String()); got != want || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "12", "12@", "@1", "12@1x", " 12@1", "12@01", "+12@1"} {
		if _, err := ParseID(text); err == nil {
			t.Errorf("parsed %q", text)
		}
	}
}

// Every way in which a statement can end is told from the others.
func TestEndsOfAStatement(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	c, other := client(t, endpoint, Connect), client(t, endpoint, Connect)
	id := c.ID()
	var n int
	// Done, with a row; and it was sent once.
	sent := 0
	if err := c.Do(t.Context(), Statement{SQL: `SELECT $1::int`, Args: []any{7}, Sent: func() { sent++ }}, &n); err != nil || n != 7 || sent != 1 {
		t.Fatalf("%d, %v, sent %d times", n, err, sent)
	}
	// Done, without a row.
	if err := c.Do(t.Context(), Statement{SQL: `SELECT 1 WHERE false`}, &n); !errors.Is(err, ErrNoRows) {
		t.Fatal(err)
	}
	// The server says no, and the session goes on.
	err := c.Do(t.Context(), Statement{SQL: `SELECT 1 / $1::int`, Args: []any{0}}, &n)
	if !Refused(err) || c.ID() != id {
		t.Fatalf("%v, session %v", err, c.ID())
	}
	// Without time nothing is sent, and the session goes on.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var open *Unanswered
	if err := c.Do(ended, Statement{SQL: `SELECT 1`}, &n); !errors.Is(err, context.Canceled) || errors.As(err, &open) || c.ID() != id {
		t.Fatalf("%v, session %v", err, c.ID())
	}
	// Sent, and cancelled then.
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Do(ctx, Statement{SQL: `SELECT 1 FROM pg_sleep(3600)`, Sent: cancel}, &n)
	if !errors.As(err, &open) || open.Session != id || !errors.Is(err, context.Canceled) || Refused(err) {
		t.Fatalf("%v", err)
	}
	// The next one has a session of its own.
	if err := c.Do(t.Context(), Statement{SQL: `SELECT 1`}, &n); err != nil || c.ID() == id {
		t.Fatalf("%v, session %v", err, c.ID())
	}
	// A session that was killed: FATAL is no definite no.
	if existed, err := other.Kill(t.Context(), c.ID()); !existed || err != nil {
		t.Fatal(existed, err)
	}
	if err := c.Do(t.Context(), Statement{SQL: `SELECT 1`}, &n); !errors.As(err, &open) || Refused(err) {
		t.Fatal(err)
	}
	if existed, err := other.Kill(t.Context(), open.Session); existed || err != nil {
		t.Fatal(existed, err)
	}
}

// A single session does not come back.
func TestSingle(t *testing.T) {
	t.Parallel()
	endpoint := startPostgres(t)
	c, other := client(t, endpoint, Single), client(t, endpoint, Connect)
	if _, err := other.Kill(t.Context(), c.ID()); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := c.Do(t.Context(), Statement{SQL: `SELECT 1`}, &n); err == nil || errors.Is(err, ErrOver) {
		t.Fatal(err)
	}
	if !c.Over() {
		t.Error("not over")
	}
	if err := c.Do(t.Context(), Statement{SQL: `SELECT 1`}, &n); !errors.Is(err, ErrOver) {
		t.Fatal(err)
	}
}
