//go:build linux

package redis

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/point"
)

func raw(t *testing.T, endpoint string) *goredis.Client {
	t.Helper()
	client, err := Connect(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// endSession deletes whatever key has the value, as expiry does.
func endSession(ctx context.Context, client *goredis.Client, session string) error {
	keys := client.Scan(ctx, 0, "*lock/*", 1000).Iterator()
	for keys.Next(ctx) {
		if deleted, err := CompareAndDelete(ctx, client, keys.Val(), session); deleted || err != nil {
			return err
		}
	}
	return errors.Join(keys.Err(), errors.New("no such session"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	for name, c := range map[string]struct {
		connect lock.Factory
		tokens  bool
	}{
		"set": {NewSet, false}, "counter": {NewCounter, true}, "two-step": {NewTwoStep, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, conformance.Suite{
				New:       c.connect,
				Endpoints: endpoints,
				End:       func(ctx context.Context, session string) error { return endSession(ctx, client, session) },
				TTL:       time.Second,
				Tokens:    c.tokens, Renews: true, Tells: true,
			})
		})
	}
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func connected(t *testing.T, connect lock.Factory, prefix string, endpoints []string) *Lock {
	t.Helper()
	l, err := connect(t.Context(), lock.Options{Endpoints: endpoints, Prefix: prefix, Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*Lock)
}

func acquire(t *testing.T, l lock.Lock, ttl time.Duration) lock.Lease {
	t.Helper()
	held, err := l.Acquire(t.Context(), "L", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func lost(t *testing.T, what string, err error) {
	t.Helper()
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Errorf("%s: %v, want a definite %q", what, err, histories.ErrLost)
	}
}

// A holder whose renewals no longer come through loses the lock to the next one, knows
// it by its own clock, and can't take it back: compare-and-delete finds another's value.
func TestHolderWithoutRenewals(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	prefix, cut := fresh(t), newCable(t, endpoints[0])
	old := acquire(t, connected(t, NewCounter, prefix, []string{cut.address}), 500*time.Millisecond)
	if !old.Held() {
		t.Fatal("not held")
	}
	cut.stop.Store(true)
	next := acquire(t, connected(t, NewCounter, prefix, endpoints), 500*time.Millisecond)
	<-old.Lost()
	if old.Held() {
		t.Error("still held, says its clock")
	}
	first, _ := old.Token()
	second, _ := next.Token()
	if second <= first {
		t.Errorf("token %d after %d", second, first)
	}
	cut.stop.Store(false)
	lost(t, "late release", old.Release(t.Context()))
	if held, err := next.Ask(t.Context()); !held || err != nil {
		t.Errorf("the old holder freed the next one's lock: %t, %v", held, err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// The positive control: a holder that stands still between its grant and its token, for
// longer than its lease, draws the larger number. In one script it can't.
func TestTokenOfTwoStepsIsInverted(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	for name, c := range map[string]struct {
		connect  lock.Factory
		inverted bool
	}{
		"two-step": {NewTwoStep, true}, "counter": {NewCounter, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := fresh(t)
			l, other := connected(t, c.connect, prefix, endpoints), connected(t, c.connect, prefix, endpoints)
			var next lock.Lease
			// What a SIGSTOP here is: others go on, and take over when the key expires.
			ctx := point.With(t.Context(), func(histories.Point) { next = acquire(t, other, LeastTTL) })
			old, err := l.Acquire(ctx, "L", LeastTTL)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := old.Token()
			b, _ := next.Token()
			if (a > b) != c.inverted {
				t.Errorf("old holder's token %d, its successor's %d", a, b)
			}
			<-old.Lost()
			lost(t, "release", old.Release(t.Context()))
		})
	}
}

// Tokens are whole 64 bits, though they pass through Lua.
func TestLargeTokens(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	l, client := connected(t, NewCounter, fresh(t), endpoints), raw(t, endpoints[0])
	const large = int64(1) << 53
	if err := client.Set(t.Context(), l.prefix+"token/L", large-1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{large, large + 1, large + 2} {
		held := acquire(t, l, time.Minute)
		if token, _ := held.Token(); token != want {
			t.Fatalf("token %d, want %d", token, want)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A script that can't count must not lock: the refusal is definite, and nothing is left.
func TestCounterThatIsNone(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	l, client := connected(t, NewCounter, fresh(t), endpoints), raw(t, endpoints[0])
	if err := client.HSet(t.Context(), l.prefix+"token/L", "a", "b").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := l.Acquire(t.Context(), "L", time.Minute)
	if word, definite := lock.IsDefinite(err); !definite || word != ErrRefused {
		t.Fatal(err)
	}
	if n := client.Exists(t.Context(), l.prefix+"lock/L").Val(); n != 0 {
		t.Fatal("locked")
	}
}

// An attempt without an answer is unsettled. If it did set the key, settling it says so;
// if there is nothing, nobody knows whether it is yet to come.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	for name, arrives := range map[string]bool{"request arrives": true, "request is lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := newCable(t, endpoints[0])
			l := connected(t, NewSet, fresh(t), []string{cut.address})
			if arrives {
				cut.mute.Store(true)
			} else {
				cut.stop.Store(true)
			}
			_, err := l.Acquire(t.Context(), "L", time.Minute)
			var unsettled *lock.Unsettled
			if !errors.As(err, &unsettled) {
				t.Fatalf("not unsettled: %v", err)
			}
			cut.mute.Store(false)
			cut.stop.Store(false)
			err = unsettled.Settle(t.Context())
			if _, definite := lock.IsDefinite(err); definite || (err == nil) != arrives {
				t.Fatalf("settled: %v", err)
			}
			if err := Empty(t.Context(), endpoints, l.prefix); err != nil {
				t.Error(err)
			}
		})
	}
}

// Without a connection nothing can be left behind: the end is plain.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	cut := newCable(t, endpoints[0])
	l := connected(t, NewSet, fresh(t), []string{cut.address})
	cut.close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*Poll)
	defer cancel()
	_, err := l.Acquire(ctx, "L", time.Minute)
	var unsettled *lock.Unsettled
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unsettled) {
		t.Fatal(err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	// Nothing listens on port 1.
	for _, endpoints := range [][]string{nil, {"127.0.0.1:1"}} {
		if _, err := NewSet(t.Context(), lock.Options{Endpoints: endpoints, Listener: quiet{}}); err == nil {
			t.Errorf("connected to %v", endpoints)
		}
	}
}

func TestWholeMS(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{
		1: time.Millisecond, time.Millisecond: time.Millisecond,
		time.Millisecond + 1: 2 * time.Millisecond, time.Hour: time.Hour,
		// Not a time to live, and more than can be counted.
		0: 0, -1: 0, 1<<63 - 1: 0,
	} {
		got, err := WholeMS(asked)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%d: %v, %v", asked, got, err)
		}
	}
}

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, false},
		{errors.New("OOM"), false}, // nobody's answer
		{reply("OOM command not allowed when used memory > 'maxmemory'."), true},
		{reply("READONLY You can't write against a read only replica."), true},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), true},
		// A proxy that lost its server.
		{reply("ERR upstream failure"), false},
		{goredis.Nil, false},
	} {
		if got := Refused(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client, prefix := raw(t, endpoints[0]), fresh(t)
	if err := client.Set(t.Context(), prefix+"a*b", "", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for rest, empty := range map[string]bool{
		"": false, "a*b": false, "a*": false,
		// Signs of a glob stand for themselves.
		"*": true, "?": true, "[a]": true, `\a`: true, "b": true,
	} {
		if err := Empty(t.Context(), endpoints, prefix+rest); (err == nil) != empty {
			t.Errorf("%q: %v", rest, err)
		}
	}
	if err := Empty(t.Context(), []string{endpoints[0], "127.0.0.1:1"}, prefix+"b"); err == nil {
		t.Error("a server that does not answer is empty")
	}
}

// cable is a connection to a server that can be cut.
type cable struct {
	address  string
	listener net.Listener
	stop     atomic.Bool // requests are lost
	mute     atomic.Bool // answers are lost
	open     chan net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{address: l.Addr().String(), listener: l, open: make(chan net.Conn, 1000)}
	t.Cleanup(c.close)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				return
			}
			c.open <- near
			c.open <- far
			go c.carry(far, near, &c.stop)
			go c.carry(near, far, &c.mute)
		}
	}()
	return c
}

// close ends it for good.
func (c *cable) close() {
	c.listener.Close()
	for {
		select {
		case end := <-c.open:
			end.Close()
		default:
			return
		}
	}
}

func (c *cable) carry(to, from net.Conn, drop *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		// The handshake passes, or there would be no request to lose.
		if text := strings.ToLower(string(buffer[:n])); drop.Load() && !strings.Contains(text, "hello") && !strings.Contains(text, "proto") {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
