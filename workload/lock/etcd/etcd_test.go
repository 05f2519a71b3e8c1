//go:build linux

package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

func TestMain(m *testing.M) {
	if child.Role() != embedded.EtcdRole {
		os.Exit(m.Run())
	}
	if err := child.Serve(embedded.EtcdChild); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func startEtcd(t *testing.T) store.Store {
	t.Helper()
	dir := t.TempDir()
	s, err := embedded.StartEtcd(t.Context(), child.NewStarter(), filepath.Join(dir, "data"), filepath.Join(dir, "etcd.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s
}

func rawClient(t *testing.T, s store.Store, options ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	client, err := dial(s.Endpoints(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// revokeSession ends a lease from outside.
func revokeSession(ctx context.Context, client *clientv3.Client, session string) error {
	id, err := strconv.ParseInt(session, 16, 64)
	if err != nil {
		return err
	}
	_, err = client.Revoke(ctx, clientv3.LeaseID(id))
	return err
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	client := rawClient(t, s)
	for name, factory := range factories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, conformance.Suite{
				New:       factory,
				Endpoints: s.Endpoints(),
				End:       func(ctx context.Context, session string) error { return revokeSession(ctx, client, session) },
				TTL:       LeastTTL,
				Tokens:    true, Renews: true, Tells: true,
			})
		})
	}
}

func factories() map[string]lock.Factory {
	return map[string]lock.Factory{"mutex": New, "election": NewElection}
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func newLock(t *testing.T, s store.Store, prefix string) lock.Lock {
	t.Helper()
	return newLockOf(t, s, prefix, New)
}

func newLockOf(t *testing.T, s store.Store, prefix string, factory lock.Factory) lock.Lock {
	t.Helper()
	l, err := factory(t.Context(), lock.Options{Endpoints: s.Endpoints(), Prefix: prefix, Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// The token is the create revision of the key, and a short ttl is raised to whole
// seconds and to the server's least.
func TestTokenAndTTL(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	client, l := rawClient(t, s), newLock(t, s, "p/")
	for _, c := range []struct{ asked, granted time.Duration }{
		{time.Millisecond, LeastTTL},
		{time.Second, LeastTTL},
		{2 * time.Second, 2 * time.Second},
		{2001 * time.Millisecond, 3 * time.Second},
		{time.Minute, time.Minute},
	} {
		held, err := l.Acquire(t.Context(), "L", c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if held.TTL() != c.granted {
			t.Errorf("asked for %v, got %v, want %v", c.asked, held.TTL(), c.granted)
		}
		answer, err := client.Get(t.Context(), "p/L/"+held.Session())
		if err != nil || len(answer.Kvs) != 1 {
			t.Fatalf("%v, %v", answer, err)
		}
		if token, _ := held.Token(); token != answer.Kvs[0].CreateRevision {
			t.Errorf("token %d, create revision %d", token, answer.Kvs[0].CreateRevision)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := Empty(t.Context(), s.Endpoints(), "p/"); err != nil {
		t.Error(err)
	}
}

func TestLeaseThatIsRefused(t *testing.T) {
	t.Parallel()
	l := newLock(t, startEtcd(t), "p/")
	// 292 years; the server's limit is 285.
	_, err := l.Acquire(t.Context(), "L", math.MaxInt64)
	if word, definite := lock.IsDefinite(err); !definite || word != errRefused {
		t.Fatal(err)
	}
}

// A waiting acquire is cancelled while the server is stopped: the library's own
// tidying gets no answer, yet Acquire returns, unsettled, and settling it later
// leaves nothing.
func TestCancelWhileTheServerIsStopped(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	node := s.Nodes()[0].(*child.Process)
	holder := newLock(t, s, "p/")
	held, err := holder.Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	waiter := newLock(t, s, "p/")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.Acquire(ctx, "L", time.Minute)
		ended <- err
	}()
	client := rawClient(t, s)
	for keys := int64(0); keys < 2; {
		answer, err := client.Get(t.Context(), "p/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		keys = answer.Count
	}
	if err := errors.Join(node.SignalStop(t.Context()), node.Stopped(t.Context())); err != nil {
		t.Fatal(err)
	}
	cancel()
	var unsettled *lock.Unsettled
	if err := <-ended; !errors.As(err, &unsettled) {
		t.Fatalf("not unsettled: %v", err)
	}
	if err := node.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unsettled.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone := unsettled.Settle(t.Context())
	if _, definite := lock.IsDefinite(gone); !definite {
		t.Errorf("second settle: %v", gone)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Empty(t.Context(), s.Endpoints(), "p/"); err != nil {
		t.Error(err)
	}
}

// The process is stopped between unlock and revoke for as long as the lease lasts:
// the revoke finds no lease, yet it was the unlock that let the next one in. "Fail"
// would turn that next grant into a double grant.
func TestReleaseThatOutlastsItsLease(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	outside := rawClient(t, s)
	slow := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if r, ok := req.(*pb.LeaseRevokeRequest); ok {
			if _, err := outside.Revoke(ctx, clientv3.LeaseID(r.ID)); err != nil {
				return err
			}
		}
		return invoke(ctx, method, req, reply, conn, options...)
	}
	client := rawClient(t, s, grpc.WithChainUnaryInterceptor(watchReplies, slow))
	for _, r := range []func(*concurrency.Session, string) recipe{newMutex, newElection} {
		l := &Lock{client: client, recipe: r, prefix: "p/", listener: quiet{}}
		held, err := l.Acquire(t.Context(), "L", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatalf("the lock key was deleted by the unlock: %v", err)
		}
	}
}

// A key deleted by hand is a loss for its waiter, and definite: nothing of the
// attempt is left.
func TestWaiterWhoseSessionEnds(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	held, err := newLock(t, s, "p/").Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan string, 1)
	waiter, err := New(t.Context(), lock.Options{Endpoints: s.Endpoints(), Prefix: "p/", Listener: announcer{began: began}})
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Close()
	ended := make(chan error, 1)
	go func() {
		_, err := waiter.Acquire(t.Context(), "L", time.Minute)
		ended <- err
	}()
	if err := revokeSession(t.Context(), rawClient(t, s), <-began); err != nil {
		t.Fatal(err)
	}
	// The waiter learns it only when its predecessor is gone.
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = <-ended
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Fatal(err)
	}
}

type announcer struct {
	quiet
	began chan string
}

func (a announcer) Began(session string) { a.began <- session }

func TestNoStore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	// Nothing listens on port 1.
	_, err := New(ctx, lock.Options{Endpoints: []string{"http://127.0.0.1:1"}, Prefix: "p/", Listener: quiet{}})
	if err == nil {
		t.Fatal("connected")
	}
}
