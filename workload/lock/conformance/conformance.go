// Package conformance is the suite that every lock passes against its real store.
//
// A lock's own test calls [Run]. It is ordinary test code that several packages
// share.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
)

// Suite is a lock under test, and what it promises.
type Suite struct {
	New       lock.Factory
	Endpoints []string
	// End ends a session at the store from outside, as an operator would, or as
	// expiry does.
	End func(ctx context.Context, session string) error
	TTL time.Duration // to ask for: the shortest that the lock takes
	// Tokens says that the lock issues fencing tokens; Renews that the library renews
	// on its own and the listener is told; Tells that it tells of a loss.
	Tokens, Renews, Tells bool
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	for name, test := range map[string]func(*testing.T, *env){
		"a lease says what it is":             testLease,
		"acquire excludes, release lets in":   testExcludes,
		"a dead holder's lease ends":          testExpires,
		"release is owner-checked":            testOwnerChecked,
		"tokens grow":                         testTokensGrow,
		"a cancelled acquire leaves nothing":  testCancelled,
		"a loss is told":                      testLost,
		"errors are definite or not":          testErrors,
		"renewals are seen":                   testRenewals,
		"the code point locked is passed":     testPoint,
		"names are independent of each other": testNames,
		"many contend, one holds":             testContention,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &env{Suite: s, prefix: fmt.Sprintf("conformance/%s/%d/", name, time.Now().UnixNano())})
		})
	}
}

// env is what one test works with: clients with one fresh prefix.
type env struct {
	Suite
	prefix string
}

// limit is far more than anything takes that must come.
const limit = time.Minute

// client is one client, as a process has it, and what its listener was told.
type client struct {
	lock.Lock
	*listener
}

func (e *env) client(t *testing.T) *client {
	t.Helper()
	heard := newListener()
	l, err := e.New(t.Context(), lock.Options{Endpoints: e.Endpoints, Prefix: e.prefix, Listener: heard})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	c := &client{Lock: closer{l, &once}, listener: heard}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// closer closes once.
type closer struct {
	lock.Lock
	once *sync.Once
}

func (c closer) Close() (err error) {
	c.once.Do(func() { err = c.Lock.Close() })
	return err
}

func (e *env) acquire(t *testing.T, c *client, name string) lock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	l, err := c.Acquire(ctx, name, e.TTL)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// acquiring is an acquire in the background that has begun.
type acquiring struct {
	lease  lock.Lease
	err    error
	done   chan struct{}
	cancel context.CancelFunc
}

func (e *env) acquiring(t *testing.T, c *client, name string) *acquiring {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	a := &acquiring{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(a.done)
		a.lease, a.err = c.Acquire(ctx, name, e.TTL)
	}()
	select {
	case <-c.began:
	case <-a.done:
		t.Fatalf("acquire ended before it began: %v", a.err)
	}
	return a
}

func (a *acquiring) wait(t *testing.T) lock.Lease {
	t.Helper()
	<-a.done
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.lease
}

func release(t *testing.T, l lock.Lease) {
	t.Helper()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, l lock.Lease) bool {
	t.Helper()
	held, err := l.Ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func (e *env) end(t *testing.T, l lock.Lease) {
	t.Helper()
	if err := e.End(t.Context(), l.Session()); err != nil {
		t.Fatal(err)
	}
}

// gone checks that err is a definite no.
func gone(t *testing.T, what string, err error) {
	t.Helper()
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Errorf("%s: %v, want a definite %q", what, err, histories.ErrLost)
	}
}

func testLease(t *testing.T, e *env) {
	c := e.client(t)
	l := e.acquire(t, c, "L")
	if _, has := l.Token(); has != e.Tokens {
		t.Errorf("token: %t", has)
	}
	if l.TTL() < e.TTL {
		t.Errorf("ttl %v, asked for %v", l.TTL(), e.TTL)
	}
	if session := <-c.began; session == "" || session != l.Session() {
		t.Errorf("session %q, began %q", l.Session(), session)
	}
	if !l.Held() || !ask(t, l) {
		t.Error("not held")
	}
	if (l.Lost() != nil) != e.Tells {
		t.Errorf("loss channel: %t", l.Lost() != nil)
	}
	release(t, l)
	if l.Held() || ask(t, l) {
		t.Error("held after the release")
	}
	gone(t, "second release", l.Release(t.Context()))
	select {
	case <-l.Lost():
		t.Error("a release is no loss")
	default:
	}
}

func testExcludes(t *testing.T, e *env) {
	a := e.acquire(t, e.client(t), "L")
	b := e.acquiring(t, e.client(t), "L")
	for range 200 {
		if !ask(t, a) {
			t.Fatal("the holder lost the lock to a waiter")
		}
	}
	select {
	case <-b.done:
		t.Fatalf("granted while held: %v", b.err)
	default:
	}
	release(t, a)
	release(t, b.wait(t))
}

// The client of the holder goes away without a release. The next one is granted in
// the end, and not before the last promise ran out.
func testExpires(t *testing.T, e *env) {
	c := e.client(t)
	promised := time.Now()
	a := e.acquire(t, c, "L")
	b := e.acquiring(t, e.client(t), "L")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	l := b.wait(t)
	granted := time.Now()
	if last := c.lastPromise(); last.After(promised) {
		promised = last
	}
	if d := granted.Sub(promised); d < a.TTL() {
		t.Errorf("granted %v after a promise of %v", d, a.TTL())
	}
	release(t, l)
}

func testOwnerChecked(t *testing.T, e *env) {
	a := e.acquire(t, e.client(t), "L")
	b := e.acquiring(t, e.client(t), "L")
	e.end(t, a)
	held := b.wait(t)
	if ask(t, a) {
		t.Error("the old holder still holds")
	}
	gone(t, "release by the old holder", a.Release(t.Context()))
	if !ask(t, held) {
		t.Error("the old holder released the new one's lock")
	}
	release(t, held)
}

func testTokensGrow(t *testing.T, e *env) {
	if !e.Tokens {
		return
	}
	clients := []*client{e.client(t), e.client(t)}
	last, first := int64(0), true
	for i := range 8 {
		l := e.acquire(t, clients[i%2], "L")
		token, _ := l.Token()
		if !first && token <= last {
			t.Fatalf("grant %d: token %d after %d", i, token, last)
		}
		last, first = token, false
		switch i % 4 {
		case 0, 1:
			release(t, l)
		default:
			e.end(t, l) // the next one comes after an end by the store
		}
	}
}

func testCancelled(t *testing.T, e *env) {
	a := e.acquire(t, e.client(t), "L")
	b := e.acquiring(t, e.client(t), "L")
	b.cancel()
	<-b.done
	if b.err == nil {
		t.Fatal("a cancelled acquire was granted")
	}
	if word, definite := lock.IsDefinite(b.err); definite {
		t.Errorf("a definite %q: %v", word, b.err)
	}
	if !errors.Is(b.err, context.Canceled) {
		t.Errorf("cancelled with %v", b.err)
	}
	var unsettled *lock.Unsettled
	if errors.As(b.err, &unsettled) {
		if err := unsettled.Settle(t.Context()); err != nil {
			if _, definite := lock.IsDefinite(err); !definite {
				t.Fatal(err)
			}
		}
	}
	if !ask(t, a) {
		t.Fatal("the holder lost the lock to a waiter that gave up")
	}
	release(t, a)
	// Whatever b left behind would keep the next one out for ever: b's client lives.
	release(t, e.acquire(t, e.client(t), "L"))
}

func testLost(t *testing.T, e *env) {
	l := e.acquire(t, e.client(t), "L")
	e.end(t, l)
	if ask(t, l) {
		t.Error("the store says that it holds")
	}
	if e.Tells {
		select {
		case <-l.Lost():
		case <-time.After(limit):
			t.Fatal("the loss was not told")
		}
		if l.Held() {
			t.Error("held, though the loss was told")
		}
	}
	gone(t, "release", l.Release(t.Context()))
}

func testErrors(t *testing.T, e *env) {
	c := e.client(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Acquire(ended, "M", e.TTL)
	if err == nil {
		t.Fatal("granted without time")
	}
	if _, definite := lock.IsDefinite(err); definite {
		t.Errorf("acquire without time: definite: %v", err)
	}
	if _, err := c.Acquire(t.Context(), "M", -1); err == nil {
		t.Error("a negative ttl was granted")
	}
	l := e.acquire(t, c, "L")
	_, err = l.Ask(ended)
	for what, err := range map[string]error{"ask": err, "release": l.Release(ended)} {
		if err == nil {
			t.Errorf("%s without time: answered", what)
		}
		if _, definite := lock.IsDefinite(err); definite {
			t.Errorf("%s without time: definite: %v", what, err)
		}
	}
	// The release without an answer may be tried again, and may have happened.
	if err := l.Release(t.Context()); err != nil {
		if _, definite := lock.IsDefinite(err); !definite {
			t.Errorf("second release: %v", err)
		}
	}
	release(t, e.acquire(t, e.client(t), "L"))
}

func testRenewals(t *testing.T, e *env) {
	if !e.Renews {
		return
	}
	c := e.client(t)
	l := e.acquire(t, c, "L")
	for range 3 {
		r := c.renewal(t)
		if r.session != l.Session() || r.err != nil || r.ttl != l.TTL() {
			t.Fatalf("renewal %+v of session %s", r, l.Session())
		}
		if !r.invoked.Before(r.answered) {
			t.Fatalf("invoked %v, answered %v", r.invoked, r.answered)
		}
	}
	e.end(t, l)
	for {
		r := c.renewal(t)
		if r.err == nil {
			continue // was under way
		}
		gone(t, "renewal of an ended lease", r.err)
		return
	}
}

func testPoint(t *testing.T, e *env) {
	var reached []histories.Point
	ctx := point.With(t.Context(), func(p histories.Point) { reached = append(reached, p) })
	l, err := e.client(t).Acquire(ctx, "L", e.TTL)
	if err != nil {
		t.Fatal(err)
	}
	if len(reached) != 1 || reached[0] != histories.PointLocked {
		t.Errorf("points %v", reached)
	}
	release(t, l)
}

// One client holds several locks, and a name may begin with another.
func testNames(t *testing.T, e *env) {
	c := e.client(t)
	var leases []lock.Lease
	for _, name := range []string{"L", "L1", "L10", "M"} {
		leases = append(leases, e.acquire(t, c, name))
	}
	release(t, leases[0])
	for _, l := range leases[1:] {
		if !ask(t, l) || !l.Held() {
			t.Error("lost with another lock's release")
		}
		release(t, l)
	}
}

// Nobody pauses here: the lock must exclude outright.
func testContention(t *testing.T, e *env) {
	var holders, grants atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		c := e.client(t)
		wg.Go(func() {
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				l, err := c.Acquire(ctx, "L", e.TTL)
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				grants.Add(1)
				holders.Add(-1)
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := grants.Load(); n != 30 {
		t.Errorf("%d grants", n)
	}
}
