package consul

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// ttl is longer than the shortest of the server in the container, for busy machines.
const ttl = 3 * time.Second

func servers(t *testing.T) []string {
	t.Helper()
	return containertest.Start(t, "consul", "").Endpoints()
}

func raw(t *testing.T, endpoint string) *api.Client {
	t.Helper()
	transport := newTransport()
	t.Cleanup(transport.CloseIdleConnections)
	client, err := dial(endpoint, transport)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestConformance(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	conformance.Run(t, conformance.Suite{
		New:       New,
		Endpoints: endpoints,
		End: func(ctx context.Context, session string) error {
			_, err := client.Session().Destroy(session, new(api.WriteOptions).WithContext(ctx))
			return err
		},
		TTL:    ttl,
		Tokens: true, Renews: true, Tells: true,
	})
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func newLock(t *testing.T, endpoints []string, prefix string) *Lock {
	t.Helper()
	l, err := New(t.Context(), lock.Options{Endpoints: endpoints, Prefix: prefix, Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*Lock)
}

func acquire(t *testing.T, l *Lock) *lease {
	t.Helper()
	held, err := l.Acquire(t.Context(), "L", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return held.(*lease)
}

func definite(t *testing.T, what, want string, err error) {
	t.Helper()
	if word, definite := lock.IsDefinite(err); !definite || word != want {
		t.Errorf("%s: %v, want a definite %q", what, err, want)
	}
}

// fresh is a prefix that no run before this one has used.
func fresh(t *testing.T) string { return t.Name() + "/" + time.Now().Format(time.RFC3339Nano) + "/" }

// The server takes the lock-delay in ms as it is (it reads very small numbers as
// seconds): the next one is not kept out for a second.
func TestLockDelayIsSmall(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	l := newLock(t, endpoints, fresh(t))
	held := acquire(t, l)
	session, _, err := client.Session().Info(held.Session(), nil)
	if err != nil || session.LockDelay != LockDelay {
		t.Fatalf("%+v, %v", session, err)
	}
}

func TestTTLThatIsRefused(t *testing.T) {
	t.Parallel()
	l := newLock(t, servers(t), fresh(t))
	for _, ttl := range []time.Duration{0, time.Millisecond, 25 * time.Hour} {
		_, err := l.Acquire(t.Context(), "L", ttl)
		definite(t, ttl.String(), errRefused, err)
	}
}

// The token is that of the grant: the key's ModifyIndex, and it grows also when the key
// was deleted in between.
func TestTokenOutlivesItsKey(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	l := newLock(t, endpoints, fresh(t))
	for last := int64(0); last >= 0; {
		held := acquire(t, l)
		pair, _, err := client.KV().Get(held.key, nil)
		if err != nil {
			t.Fatal(err)
		}
		token, _ := held.Token()
		if token != int64(pair.ModifyIndex) || token <= last {
			t.Errorf("token %d after %d, index %d", token, last, pair.ModifyIndex)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := client.KV().Delete(held.key, nil); err != nil {
			t.Fatal(err)
		}
		if last > 0 {
			return
		}
		last = token
	}
}

// The process is stopped after the lock was granted and before the token was read, and
// loses the lock meanwhile. The record that it reads then is another's.
func TestLossBeforeTheTokenIsDrawn(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	prefix := fresh(t)
	other := newLock(t, endpoints, prefix)
	var next *lease
	ctx := point.With(t.Context(), func(histories.Point) {
		pair, _, err := client.KV().Get(prefix+"L", nil)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := client.Session().Destroy(pair.Session, nil); err != nil {
			t.Error(err)
			return
		}
		next = acquire(t, other)
	})
	_, err := newLock(t, endpoints, prefix).Acquire(ctx, "L", ttl)
	definite(t, "acquire", histories.ErrLost, err)
	if holds, err := next.Ask(t.Context()); err != nil || !holds {
		t.Errorf("the next holder: %t, %v", holds, err)
	}
}

// proxy passes requests on, and keeps the answers to those that match to itself.
type proxy struct {
	*httptest.Server
	mu    sync.Mutex
	match func(*http.Request) bool
}

func newProxy(t *testing.T, endpoint string) *proxy {
	t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	pass := httputil.NewSingleHostReverseProxy(target)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		mute := p.match != nil && p.match(r)
		p.mu.Unlock()
		if !mute {
			pass.ServeHTTP(w, r)
			return
		}
		pass.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(p.CloseClientConnections)
	return p
}

func (p *proxy) mute(match func(*http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match = match
}

func query(name string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Query().Has(name) }
}

// The unlock is done and not answered: destroying the session makes sure of the end.
func TestUnlockWithoutAnswer(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	p := newProxy(t, endpoints[0])
	prefix := fresh(t)
	held := acquire(t, newLock(t, []string{p.URL}, prefix))
	p.mute(query("release"))
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	definite(t, "second release", histories.ErrLost, held.Release(t.Context()))
	acquire(t, newLock(t, endpoints, prefix))
}

// Neither is the destruction answered: no definite no, and it can be tried again.
func TestReleaseWithoutAnyAnswer(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	p := newProxy(t, endpoints[0])
	held := acquire(t, newLock(t, []string{p.URL}, fresh(t)))
	p.mute(func(r *http.Request) bool { return r.Method == http.MethodPut })
	err := held.Release(t.Context())
	if _, definite := lock.IsDefinite(err); err == nil || definite {
		t.Errorf("release: %v", err)
	}
	p.mute(nil)
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// The acquire is done and not answered: the key is held until that is settled.
func TestAcquireWithoutAnswer(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	p := newProxy(t, endpoints[0])
	prefix := fresh(t)
	// The library tidies up on its own; here nothing of that gets through.
	p.mute(query("acquire"))
	_, err := newLock(t, []string{p.URL}, prefix).Acquire(t.Context(), "L", ttl)
	var unsettled *lock.Unsettled
	if !errors.As(err, &unsettled) {
		t.Fatalf("not unsettled: %v", err)
	}
	if err := unsettled.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	pair, _, err := raw(t, endpoints[0]).KV().Get(prefix+"L", nil)
	if err != nil || pair == nil || pair.Session != "" {
		t.Errorf("%+v, %v", pair, err)
	}
}

func TestRenewalAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		body string
		ttl  time.Duration
		word string // of a definite no
	}{
		{200, `[{"ID":"a","TTL":"1m30s"}]`, 90 * time.Second, ""},
		// There is no such session.
		{404, `Session id 'a' not found`, 0, histories.ErrLost},
		// No leader, a proxy's page, an answer without a session: nobody knows.
		{500, `No cluster leader`, 0, ""},
		{200, `<html>`, 0, ""},
		{200, `[]`, 0, ""},
		{200, `[{"ID":"a","TTL":"soon"}]`, 0, ""},
	} {
		got, err := renewal(c.code, []byte(c.body))
		word, _ := lock.IsDefinite(err)
		if got != c.ttl || word != c.word || (err == nil) != (c.ttl > 0) {
			t.Errorf("%d %s: %v, %v", c.code, c.body, got, err)
		}
	}
}

func TestWatchSeesTheEndOfGrants(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	client := raw(t, endpoints[0])
	prefix := fresh(t)
	l := newLock(t, endpoints, prefix)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, done, ready := make(chan Ended, 100), make(chan error, 1), make(chan struct{})
	go func() {
		done <- Watch(ctx, endpoints, prefix, func() { close(ready) }, func(e Ended) { seen <- e })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	left := acquire(t, l)
	l.Close() // it runs out
	token, _ := left.Token()
	if got, want := <-seen, (Ended{Name: "L", Session: left.Session(), Token: token}); got != want {
		t.Errorf("saw %+v, want %+v", got, want)
	}
	if session, _, err := client.Session().Info(left.Session(), nil); err != nil || session != nil {
		t.Errorf("%+v, %v", session, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// What a look finds, after what the look before found.
func TestCompare(t *testing.T) {
	t.Parallel()
	pair := func(session string, index uint64) *api.KVPair {
		return &api.KVPair{Key: "p/L", Session: session, ModifyIndex: index}
	}
	one := Ended{"L", "1", 10}
	for _, c := range []struct {
		name  string
		then  api.KVPairs
		ended int
	}{
		{"held still", api.KVPairs{pair("1", 10)}, 0},
		// Somebody wrote to the key: the grant is the same, and so is its token.
		{"written to", api.KVPairs{pair("1", 12)}, 0},
		{"released", api.KVPairs{pair("", 12)}, 1},
		{"deleted", nil, 1},
		{"taken over", api.KVPairs{pair("2", 12)}, 1},
	} {
		held := map[string]Ended{}
		compare(held, api.KVPairs{pair("1", 10)}, "p/", func(Ended) { t.Errorf("%s: ended at once", c.name) })
		n := 0
		compare(held, c.then, "p/", func(e Ended) {
			n++
			if e != one {
				t.Errorf("%s: saw %+v", c.name, e)
			}
		})
		if n != c.ended {
			t.Errorf("%s: %d ended", c.name, n)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	endpoints := servers(t)
	prefix := fresh(t)
	acquire(t, newLock(t, endpoints, prefix))
	for at, empty := range map[string]bool{prefix: false, prefix + "L": false, strings.TrimSuffix(prefix, "/"): false, prefix + "M": true} {
		if err := Empty(t.Context(), endpoints, at); (err == nil) != empty {
			t.Errorf("%q: %v", at, err)
		}
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	// Nothing listens on port 1.
	_, err := New(t.Context(), lock.Options{Endpoints: []string{"http://127.0.0.1:1"}, Prefix: "p/", Listener: quiet{}})
	if err == nil {
		t.Fatal("connected")
	}
}
