//go:build linux

package locktest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/locktest"
)

// leases is a lock store of a few lines, for the tests: a line asks, a line answers.
type leases struct {
	early time.Duration // ends every lease so much before its time: a mistake

	mu     sync.Mutex
	holds  map[string]held
	tokens int64
}

type held struct {
	owner string
	until time.Time
}

// serve starts a store in the test's own process, which nobody stops.
func serve(t *testing.T, early time.Duration) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &leases{early: early, holds: map[string]held{}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.talk(conn)
		}
	}()
	return l.Addr().String()
}

func (s *leases) talk(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		fmt.Fprintln(conn, s.do(strings.Fields(lines.Text())))
	}
}

// do answers "acquire KEY OWNER TTL" and "release KEY OWNER".
func (s *leases) do(words []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, owner := words[1], words[2]
	h, taken := s.holds[key]
	if taken = taken && time.Now().Before(h.until); words[0] == "release" {
		if !taken || h.owner != owner {
			return "gone"
		}
		delete(s.holds, key)
		return "ok"
	}
	if taken {
		return "held"
	}
	ttl, err := time.ParseDuration(words[3])
	if err != nil {
		return err.Error()
	}
	s.tokens++
	s.holds[key] = held{owner, time.Now().Add(ttl - s.early)}
	return fmt.Sprint(s.tokens)
}

// client is the lock's own client library, in this story.
type client struct {
	mu   sync.Mutex
	conn net.Conn
	in   *bufio.Reader
	next int
}

func dial(endpoint string) (*client, error) {
	conn, err := net.Dial("tcp", endpoint)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *client) ask(format string, args ...any) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintf(c.conn, format+"\n", args...); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	return strings.TrimSpace(line), err
}

// connect makes a lock of it; with tokens if they are to be handed out.
func connect(tokens bool) locktest.New {
	return func(_ context.Context, o locktest.Options) (lock, error) {
		c, err := dial(o.Endpoints[0])
		if err != nil {
			return nil, err
		}
		return locktest.Simple(o, func(ctx context.Context, key string, ttl time.Duration) (*locktest.Hold, error) {
			return c.acquire(ctx, key, ttl, tokens)
		}, c.conn.Close), nil
	}
}

func (c *client) acquire(ctx context.Context, key string, ttl time.Duration, tokens bool) (*locktest.Hold, error) {
	c.next++
	owner := fmt.Sprintf("%s/%d", c.conn.LocalAddr(), c.next)
	for {
		answer, err := c.ask("acquire %s %s %s", key, owner, ttl)
		if err != nil {
			return nil, err
		}
		var token int64
		if _, err := fmt.Sscan(answer, &token); err == nil {
			return &locktest.Hold{Token: token, HasToken: tokens, Release: func(context.Context) error {
				switch answer, err := c.ask("release %s %s", key, owner); {
				case err != nil:
					return err
				case answer != "ok":
					return locktest.Gone(fmt.Errorf("the store says %s", answer))
				}
				return nil
			}}, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, locktest.Held(ctx.Err())
		}
	}
}
