//go:build linux

package nats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

func TestMain(m *testing.M) {
	if child.Role() != embedded.NATSRole {
		os.Exit(containertest.Main(m))
	}
	if err := child.Serve(embedded.NATSChild); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func startNATS(t *testing.T) store.Store {
	t.Helper()
	dir := t.TempDir()
	s, err := embedded.StartNATS(t.Context(), child.NewStarter(), filepath.Join(dir, "data"), filepath.Join(dir, "nats.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s
}

// endSession deletes whatever key has the value, in whatever bucket.
func endSession(ctx context.Context, js jetstream.JetStream, session string) error {
	buckets := js.KeyValueStoreNames(ctx)
	for name := range buckets.Name() {
		kv, err := js.KeyValue(ctx, name)
		if err != nil {
			return err
		}
		keys, err := kv.Keys(ctx)
		if err != nil && !errors.Is(err, jetstream.ErrNoKeysFound) {
			return err
		}
		for _, key := range keys {
			entry, err := kv.Get(ctx, key)
			if err == nil && string(entry.Value()) == session {
				return kv.Delete(ctx, key)
			}
		}
	}
	return errors.Join(buckets.Error(), fmt.Errorf("no key has the value %s", session))
}

func suite(t *testing.T, s store.Store) conformance.Suite {
	t.Helper()
	client, js, err := dial(t.Context(), s.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return conformance.Suite{
		New:       New,
		Endpoints: s.Endpoints(),
		End:       func(ctx context.Context, session string) error { return endSession(ctx, js, session) },
		TTL:       2 * time.Second, // on a busy machine the shortest is not renewed in time
		Tokens:    true, Renews: true, Tells: true,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, suite(t, startNATS(t)))
}

func TestConformanceInAContainer(t *testing.T) {
	t.Parallel()
	conformance.Run(t, suite(t, containertest.Start(t, "nats", "")))
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func newLock(t *testing.T, s store.Store, prefix string) *Lock {
	t.Helper()
	l, err := New(t.Context(), lock.Options{Endpoints: s.Endpoints(), Prefix: prefix, Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*Lock)
}

func acquire(t *testing.T, l *Lock, ttl time.Duration) *lease {
	t.Helper()
	held, err := l.Acquire(t.Context(), "L", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return held.(*lease)
}

// A ttl is in whole seconds, and the first one is that of the whole bucket.
func TestTTL(t *testing.T) {
	t.Parallel()
	s := startNATS(t)
	for _, c := range []struct{ asked, effective time.Duration }{
		{time.Nanosecond, time.Second},
		{time.Second, time.Second},
		{1001 * time.Millisecond, 2 * time.Second},
		{time.Hour, time.Hour},
	} {
		l := newLock(t, s, c.asked.String())
		if held := acquire(t, l, c.asked); held.TTL() != c.effective {
			t.Errorf("asked for %v, got %v, want %v", c.asked, held.TTL(), c.effective)
		}
		for _, l := range []*Lock{l, newLock(t, s, c.asked.String())} {
			_, err := l.Acquire(t.Context(), "M", c.effective+time.Second)
			if word, definite := lock.IsDefinite(err); !definite || word != errRefused {
				t.Errorf("another ttl in the same bucket: %v", err)
			}
		}
	}
}

func TestNameThatIsNoKey(t *testing.T) {
	t.Parallel()
	_, err := newLock(t, startNATS(t), "p/").Acquire(t.Context(), "a name", time.Minute)
	if word, definite := lock.IsDefinite(err); !definite || word != errRefused {
		t.Fatal(err)
	}
}

// A renewal raises the key's revision, and the token stays that of the create.
func TestTokenOutlivesRenewals(t *testing.T) {
	t.Parallel()
	held := acquire(t, newLock(t, startNATS(t), "p/"), time.Minute)
	token, _ := held.Token()
	if _, err := held.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := held.look(t.Context(), "L")
	if err != nil || found.revision <= uint64(token) {
		t.Fatalf("%+v, %v", found, err)
	}
	if after, _ := held.Token(); after != token {
		t.Errorf("token %d, then %d", token, after)
	}
}

// mute is a bucket whose writes are done, and not answered.
type mute struct{ jetstream.KeyValue }

func (m mute) Create(ctx context.Context, key string, value []byte, options ...jetstream.KVCreateOpt) (uint64, error) {
	if _, err := m.KeyValue.Create(ctx, key, value, options...); err != nil {
		return 0, err
	}
	return 0, context.DeadlineExceeded
}

func (m mute) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if _, err := m.KeyValue.Update(ctx, key, value, revision); err != nil {
		return 0, err
	}
	return 0, context.DeadlineExceeded
}

func (m mute) Delete(ctx context.Context, key string, options ...jetstream.KVDeleteOpt) error {
	if err := m.KeyValue.Delete(ctx, key, options...); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// muted runs f while no write of the attempt is answered.
func muted(a *attempt, f func()) {
	was := *a.bucket
	silent := was
	silent.kv = mute{was.kv}
	a.bucket = &silent
	f()
	a.bucket = &was
}

func gone(t *testing.T, what string, err error) {
	t.Helper()
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Errorf("%s: %v", what, err)
	}
}

// A renewal raised the revision and its answer got lost: "wrong last sequence" is then
// no loss, neither for the next renewal nor for the release.
func TestRenewalWithoutAnswer(t *testing.T) {
	t.Parallel()
	l := newLock(t, startNATS(t), "p/")
	for name, next := range map[string]func(*lease) error{
		"renewal": func(held *lease) error { _, err := held.renew(t.Context()); return err },
		"release": func(held *lease) error { return held.Release(t.Context()) },
	} {
		held := acquire(t, l, time.Minute)
		muted(held.attempt, func() {
			if _, err := held.renew(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		})
		if err := next(held); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		held.Release(t.Context())
	}
}

// The same, and then somebody else took the key: now it is a loss, and nothing of the
// other's is touched.
func TestRenewalWithoutAnswerThenLoss(t *testing.T) {
	t.Parallel()
	l := newLock(t, startNATS(t), "p/")
	held := acquire(t, l, time.Minute)
	muted(held.attempt, func() { held.renew(t.Context()) })
	if err := held.kv.Delete(t.Context(), "L"); err != nil {
		t.Fatal(err)
	}
	next := acquire(t, l, time.Minute)
	_, err := held.renew(t.Context())
	gone(t, "renewal", err)
	gone(t, "release", held.Release(t.Context()))
	if holds, err := next.Ask(t.Context()); err != nil || !holds {
		t.Errorf("the next holder: %t, %v", holds, err)
	}
}

// A release without an answer is no definite no, whatever is found later.
func TestReleaseWithoutAnswer(t *testing.T) {
	t.Parallel()
	held := acquire(t, newLock(t, startNATS(t), "p/"), time.Minute)
	muted(held.attempt, func() {
		err := held.Release(t.Context())
		if _, definite := lock.IsDefinite(err); err == nil || definite {
			t.Fatal(err)
		}
	})
	gone(t, "second release", held.Release(t.Context()))
}

// A create is done and not answered: it holds the lock until it is settled.
func TestCreateWithoutAnswer(t *testing.T) {
	t.Parallel()
	l := newLock(t, startNATS(t), "p/")
	b, err := l.bucket(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{bucket: b, key: "L", value: "ghost", ttl: b.age}
	muted(a, func() { _, err = a.create(t.Context()) })
	var unsettled *lock.Unsettled
	if !errors.As(a.failed(err), &unsettled) {
		t.Fatalf("not unsettled: %v", err)
	}
	if found, err := b.look(t.Context(), "L"); err != nil || !found.has("ghost") {
		t.Fatalf("%+v, %v", found, err)
	}
	if err := unsettled.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone(t, "second settle", unsettled.Settle(t.Context()))
	acquire(t, l, time.Minute)
	gone(t, "settle after the next grant", unsettled.Settle(t.Context()))
}

// A create arrives after it was settled. It must not take the lock: on a fresh key it
// required that there is none, on a deleted one that very marker.
func TestCreateAfterItWasSettled(t *testing.T) {
	t.Parallel()
	l := newLock(t, startNATS(t), "p/")
	b, err := l.bucket(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"fresh", "deleted"} {
		if key == "deleted" {
			if err := b.mark(t.Context(), key, 0); err != nil {
				t.Fatal(err)
			}
		}
		before, err := b.look(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		a := &attempt{bucket: b, key: key, value: "ghost", ttl: b.age}
		gone(t, key, a.settle(t.Context()))
		if _, err := b.kv.Update(t.Context(), key, []byte("ghost"), before.revision); !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			t.Errorf("%s: the late create: %v", key, err)
		}
	}
}

// While the server stands still, nothing is answered and nothing is definite.
func TestServerStandsStill(t *testing.T) {
	t.Parallel()
	s := startNATS(t)
	node := s.Nodes()[0].(*child.Process)
	l := newLock(t, s, "p/")
	held := acquire(t, l, time.Minute)
	if err := errors.Join(node.SignalStop(t.Context()), node.Stopped(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err := l.Acquire(t.Context(), "M", time.Minute)
	var unsettled *lock.Unsettled
	if !errors.As(err, &unsettled) {
		t.Errorf("not unsettled: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := held.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := node.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unsettled.Settle(t.Context()); err != nil {
		gone(t, "settle", err)
	}
	if err := held.Release(t.Context()); err != nil {
		gone(t, "release", err)
	}
	fresh := newLock(t, s, "p/")
	for _, name := range []string{"L", "M"} {
		if _, err := fresh.Acquire(t.Context(), name, time.Minute); err != nil {
			t.Error(err)
		}
	}
}

// watching runs Watch until the test ends.
func watching(t *testing.T, s store.Store) (seen chan Ended, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seen, done, ready := make(chan Ended, 100), make(chan error, 1), make(chan struct{})
	go func() {
		done <- Watch(ctx, s.Endpoints(), "p/", func() { close(ready) }, func(e Ended) { seen <- e })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	return seen, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func theEndOf(held *lease) Ended {
	return Ended{Name: "L", Session: held.Session(), Token: held.token}
}

func TestWatchSeesTheEndOfGrants(t *testing.T) {
	t.Parallel()
	s := startNATS(t)
	holder := newLock(t, s, "p/")
	if _, err := holder.bucket(t.Context(), 2*time.Second); err != nil {
		t.Fatal(err)
	}
	seen, stop := watching(t, s)
	released := acquire(t, holder, 2*time.Second)
	for range 2 {
		if _, err := released.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := released.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := acquire(t, holder, 2*time.Second)
	holder.Close() // it runs out
	for _, held := range []*lease{released, left} {
		if got, want := <-seen, theEndOf(held); got != want {
			t.Errorf("saw %+v, want %+v", got, want)
		}
	}
	// The marker of the deletion grows old, too, and leaves a marker: no grant's end.
	found := state{revision: 1}
	for l := newLock(t, s, "p/"); found.revision != 0; {
		b, err := l.bucket(t.Context(), 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if found, err = b.look(t.Context(), "L"); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if len(seen) > 0 {
		t.Errorf("saw %+v, too", <-seen)
	}
}

func TestWatchBeforeThereIsABucket(t *testing.T) {
	t.Parallel()
	s := startNATS(t)
	seen, stop := watching(t, s)
	holder := newLock(t, s, "p/")
	left := acquire(t, holder, LeastTTL)
	holder.Close()
	if got := <-seen; got.Session != left.Session() {
		t.Errorf("saw %+v, want %+v", got, theEndOf(left))
	}
	stop()
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	s := startNATS(t)
	acquire(t, newLock(t, s, "p/"), time.Minute)
	for prefix, empty := range map[string]bool{"p/": false, "p_": true, "p": true, "": true} {
		if err := Empty(t.Context(), s.Endpoints(), prefix); (err == nil) != empty {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	// Nothing listens on port 1.
	_, err := New(t.Context(), lock.Options{Endpoints: []string{"nats://127.0.0.1:1"}, Prefix: "p/", Listener: quiet{}})
	if err == nil {
		t.Fatal("connected")
	}
}
