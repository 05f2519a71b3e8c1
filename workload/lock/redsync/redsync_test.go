//go:build linux

package redsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
)

func raw(t *testing.T, endpoints []string) []*goredis.Client {
	t.Helper()
	var all []*goredis.Client
	for _, endpoint := range endpoints {
		client, err := redis.Connect(t.Context(), endpoint)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		all = append(all, client)
	}
	return all
}

// endSession deletes whatever keys have the value, as expiry does.
func endSession(ctx context.Context, clients []*goredis.Client, session string) error {
	for _, client := range clients {
		keys := client.Scan(ctx, 0, "*", 1000).Iterator()
		for keys.Next(ctx) {
			if _, err := redis.CompareAndDelete(ctx, client, keys.Val(), session); err != nil {
				return err
			}
		}
		if err := keys.Err(); err != nil {
			return err
		}
	}
	return nil
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			endpoints := servers(t, n)
			clients := raw(t, endpoints)
			conformance.Run(t, conformance.Suite{
				New:       New,
				Endpoints: endpoints,
				End:       func(ctx context.Context, session string) error { return endSession(ctx, clients, session) },
				TTL:       2 * LeastTTL,
				Renews:    true, Tells: true,
			})
		})
	}
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func connected(t *testing.T, endpoints []string) *Lock {
	t.Helper()
	l, err := New(t.Context(), lock.Options{Endpoints: endpoints, Prefix: fresh(t), Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*Lock)
}

// With the keys of two servers of five gone the lease stands; with three it is lost,
// whatever the two others say, and the release says so.
func TestMajority(t *testing.T) {
	t.Parallel()
	endpoints := servers(t, 5)
	l, clients := connected(t, endpoints), raw(t, endpoints)
	for gone := range 6 {
		held, err := l.Acquire(t.Context(), "L", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := endSession(t.Context(), clients[:gone], held.Session()); err != nil {
			t.Fatal(err)
		}
		if ours, err := held.Ask(t.Context()); ours != (gone <= 2) || err != nil {
			t.Errorf("%d gone: ask: %t, %v", gone, ours, err)
		}
		_, extended := held.(*lease).extend(t.Context())
		released := held.Release(t.Context())
		for what, err := range map[string]error{"extend": extended, "release": released} {
			word, definite := lock.IsDefinite(err)
			if (err == nil) != (gone <= 2) || definite != (gone > 2) || definite && word != histories.ErrLost {
				t.Errorf("%d gone: %s: %v", gone, what, err)
			}
		}
	}
}

// Another holds a majority: a failed attempt leaves no key behind on the others.
func TestFailedAttemptIsTakenBack(t *testing.T) {
	t.Parallel()
	endpoints := servers(t, 5)
	l, clients := connected(t, endpoints), raw(t, endpoints)
	for _, client := range clients[:3] {
		if err := client.Set(t.Context(), l.prefix+"L", "another", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a := l.attempt("L", time.Minute)
	if granted, err := a.try(t.Context()); granted || err != nil {
		t.Fatalf("%t, %v", granted, err)
	}
	if err := redis.Empty(t.Context(), endpoints[3:], l.prefix); err != nil {
		t.Error(err)
	}
}

// note is an answer of one server.
type note struct {
	what string // set, delete
	node int
	ok   bool
	err  error
}

func TestTally(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, noConnection := redis.Options("127.0.0.1:1").Dialer(t.Context(), "tcp", "127.0.0.1:1")
	for _, c := range []struct {
		name  string
		notes []note
		left  []int
	}{
		// Set and deleted, set and expired, and never set.
		{"clean", []note{{"set", 0, true, nil}, {"set", 1, true, nil}, {"set", 2, false, nil},
			{"delete", 0, true, nil}, {"delete", 1, false, nil}, {"delete", 2, false, nil}}, nil},
		// Not asked to delete, or no answer to it.
		{"not deleted", []note{{"set", 0, true, nil}, {"set", 1, true, nil}, {"delete", 1, false, broken}}, []int{0, 1}},
		// No answer to the set: only a deletion that found it makes sure.
		{"no answer", []note{{"set", 0, false, broken}, {"delete", 0, false, nil},
			{"set", 1, false, broken}, {"delete", 1, true, nil}}, []int{0}},
		// The request never left.
		{"no connection", []note{{"set", 0, false, noConnection}, {"delete", 0, false, broken}}, nil},
		// What was seen deleted does not come back with a second deletion that finds nothing.
		{"deleted twice", []note{{"set", 0, false, broken}, {"delete", 0, true, nil}, {"delete", 0, false, nil}}, nil},
		{"deleted at last", []note{{"set", 0, false, broken}, {"delete", 0, false, nil}, {"delete", 0, true, nil}}, nil},
		// Gone is gone, even if nobody answers the second time.
		{"gone", []note{{"set", 0, true, nil}, {"delete", 0, false, nil}, {"delete", 0, false, broken}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			count := newTally()
			for _, n := range c.notes {
				which := count.set
				if n.what == "delete" {
					which = count.deleted
				}
				count.note(which, n.node, n.ok, n.err)
			}
			left := count.left()
			slices.Sort(left)
			if !slices.Equal(left, c.left) {
				t.Errorf("left on %v, want %v", left, c.left)
			}
		})
	}
}

// The library says "taken" when three servers are; that two did not answer is for the
// tally. Two are no majority: another attempt may follow. Three would be unsettled.
func TestUnansweredAttempts(t *testing.T) {
	t.Parallel()
	endpoints := servers(t, 5)
	for silent := range 6 {
		l, clients := connected(t, endpoints), raw(t, endpoints)
		for _, client := range clients[silent:] {
			if err := client.Set(t.Context(), l.prefix+"L", "another", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		for node := range silent {
			l.clients[node].AddHook(deaf{})
		}
		_, err := l.attempt("L", time.Minute).try(t.Context())
		var unsettled *lock.Unsettled
		if errors.As(err, &unsettled) != (silent >= 3) {
			t.Errorf("%d silent: %v", silent, err)
		}
		if silent < 3 {
			continue
		}
		// The keys were set, and answers come again.
		if err := unsettled.Settle(context.WithValue(t.Context(), hearingKey{}, true)); err != nil {
			t.Errorf("%d silent: settle: %v", silent, err)
		}
	}
}

var errDeaf = errors.New("no answer")

// deaf loses the answers to SET, and every other request.
type deaf struct{ goredis.Hook }

// hearingKey in a context means that a deaf client hears again.
type hearingKey struct{}

func (deaf) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (deaf) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (deaf) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if ctx.Value(hearingKey{}) != nil {
			return next(ctx, cmd)
		}
		if cmd.Name() == "set" {
			next(ctx, cmd)
		}
		cmd.SetErr(errDeaf)
		return errDeaf
	}
}

// One server of five stands still: leases are granted, kept and released as ever, and
// no call waits for it for ever.
func TestServerThatStandsStill(t *testing.T) {
	t.Parallel()
	l, renewals := connected(t, servers(t, 5)), make(listener, 100)
	l.listener = renewals
	l.clients[4].AddHook(frozen{})
	held, err := l.Acquire(t.Context(), "L", 2*LeastTTL)
	if err != nil {
		t.Fatal(err)
	}
	if ours, err := held.Ask(t.Context()); !ours || err != nil {
		t.Errorf("ask: %t, %v", ours, err)
	}
	if r := <-renewals; r != nil {
		t.Errorf("extend: %v", r)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
}

// listener gets the answers to renewals.
type listener chan error

func (listener) Began(string) {}

func (l listener) Renewing(string) func(time.Duration, error) {
	return func(_ time.Duration, err error) { l <- err }
}

// frozen answers nothing.
type frozen struct{ deaf }

func (frozen) ProcessHook(goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		<-ctx.Done()
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
}
