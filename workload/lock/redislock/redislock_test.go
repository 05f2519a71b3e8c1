//go:build linux

package redislock

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
)

func raw(t *testing.T, endpoint string) *goredis.Client {
	t.Helper()
	client, err := redis.Connect(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// endSession deletes whatever key has the value, as expiry does.
func endSession(ctx context.Context, client *goredis.Client, session string) error {
	keys := client.Scan(ctx, 0, "*", 1000).Iterator()
	for keys.Next(ctx) {
		if deleted, err := redis.CompareAndDelete(ctx, client, keys.Val(), session); deleted || err != nil {
			return err
		}
	}
	return errors.Join(keys.Err(), errors.New("no such session"))
}

func TestConformance(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	conformance.Run(t, conformance.Suite{
		New:       New,
		Endpoints: endpoints,
		End:       func(ctx context.Context, session string) error { return endSession(ctx, client, session) },
		TTL:       time.Second,
		Renews:    true, Tells: true,
	})
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func connected(t *testing.T, prefix string, endpoints []string) *Lock {
	t.Helper()
	l, err := New(t.Context(), lock.Options{Endpoints: endpoints, Prefix: prefix, Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*Lock)
}

// A waiter waits for longer than its ttl, which is the library's own limit, and without
// a doubt about any attempt.
func TestWaitsLongerThanItsTTL(t *testing.T) {
	t.Parallel()
	endpoints, prefix := servers(t), fresh(t)
	held, err := connected(t, prefix, endpoints).Acquire(t.Context(), "L", redis.LeastTTL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*redis.LeastTTL)
	defer cancel()
	began := time.Now()
	_, err = connected(t, prefix, endpoints).Acquire(ctx, "L", redis.LeastTTL)
	var unsettled *lock.Unsettled
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unsettled) {
		t.Fatal(err)
	}
	if d := time.Since(began); d < 5*redis.LeastTTL {
		t.Errorf("gave up after %v", d)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that forgets its scripts is told them again, in the middle of a lease.
func TestScriptsForgotten(t *testing.T) {
	t.Parallel()
	endpoints, prefix := servers(t), fresh(t)
	held, err := connected(t, prefix, endpoints).Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := raw(t, endpoints[0]).ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if ours, err := held.Ask(t.Context()); !ours || err != nil {
		t.Fatalf("%t, %v", ours, err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// script is a client whose answers are given.
type script struct {
	goredis.Scripter
	errs []error
}

func (s *script) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *goredis.Cmd {
	cmd := goredis.NewCmd(ctx)
	cmd.SetErr(s.errs[0])
	s.errs = s.errs[1:]
	return cmd
}

func (s *script) Eval(ctx context.Context, source string, keys []string, args ...any) *goredis.Cmd {
	return s.EvalSha(ctx, source, keys, args...)
}

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestAttemptsAreClassed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	// Nothing listens on port 1.
	_, noConnection := redis.Options("127.0.0.1:1").Dialer(t.Context(), "tcp", "127.0.0.1:1")
	for _, c := range []struct {
		name string
		errs []error // of the requests, in turn
		ends bool    // the context ends with the last of them
		want string  // again, ended, refused, unsettled
	}{
		// Held by another; then the time is over.
		{"taken", []error{goredis.Nil}, true, "ended"},
		// No answer: it may hold the lock.
		{"no answer", []error{broken}, false, "unsettled"},
		{"no answer at the second attempt", []error{goredis.Nil, broken}, false, "unsettled"},
		// Both at once: the doubt counts.
		{"no answer at the end", []error{broken}, true, "unsettled"},
		{"no connection", []error{noConnection}, false, "again"},
		{"no connection at the end", []error{noConnection}, true, "ended"},
		{"refused", []error{reply("OOM no memory")}, false, "refused"},
		// The digest was not known, and the script itself gets no answer.
		{"no answer to the script", []error{reply("NOSCRIPT unknown"), broken}, false, "unsettled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := &scripter{RedisClient: &ending{script{errs: c.errs}, c.ends, cancel}}
			_, err := obtain(ctx, seen, "K", time.Minute, "V")
			got := "again"
			var unsettled *lock.Unsettled
			switch err := (&Lock{}).failed(ctx, seen, "K", "V", err); {
			case errors.As(err, &unsettled):
				got = "unsettled"
			case errors.Is(err, context.Canceled):
				got = "ended"
			case err != nil:
				got, _ = lock.IsDefinite(err)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// ending ends a context with its last answer.
type ending struct {
	script
	ends bool
	end  func()
}

func (e *ending) EvalSha(ctx context.Context, digest string, keys []string, args ...any) *goredis.Cmd {
	if e.ends && len(e.errs) == 1 {
		e.end()
	}
	return e.script.EvalSha(ctx, digest, keys, args...)
}

func (e *ending) Eval(ctx context.Context, source string, keys []string, args ...any) *goredis.Cmd {
	return e.EvalSha(ctx, source, keys, args...)
}

// Another's lock is not released by an old holder.
func TestReleaseAfterTheLoss(t *testing.T) {
	t.Parallel()
	endpoints, prefix := servers(t), fresh(t)
	client := raw(t, endpoints[0])
	old, err := connected(t, prefix, endpoints).Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := endSession(t.Context(), client, old.Session()); err != nil {
		t.Fatal(err)
	}
	next, err := connected(t, prefix, endpoints).Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	err = old.Release(t.Context())
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Errorf("release: %v", err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
