//go:build linux

package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// watching runs Watch until the test ends.
func watching(t *testing.T, s store.Store, prefix string) (seen chan Deleted, ended chan error, stop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	seen, ended = make(chan Deleted, 100), make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		ended <- Watch(ctx, s.Endpoints(), prefix, func() { close(ready) }, func(d Deleted) { seen <- d })
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return seen, ended, cancel
}

func TestWatchSeesTheEndOfLeases(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	seen, ended, stop := watching(t, s, "p/")
	mutex, election, other := newLock(t, s, "p/"), newLockOf(t, s, "p/", NewElection), newLock(t, s, "q/")
	client := rawClient(t, s)
	for i, l := range []lock.Lock{mutex, mutex, election, election} {
		byRelease := i%2 == 0
		elsewhere, err := other.Acquire(t.Context(), "L", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		held, err := l.Acquire(t.Context(), "L", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if byRelease {
			err = held.Release(t.Context())
		} else {
			err = revokeSession(t.Context(), client, held.Session())
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := elsewhere.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		token, _ := held.Token()
		want := Deleted{Key: "p/L/" + held.Session(), Session: held.Session(), CreateRevision: token}
		if got := <-seen; got != want {
			t.Fatalf("saw %+v, want %+v", got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(seen) != 0 {
		t.Fatalf("saw %+v, too", <-seen)
	}
}

// The watch outlives a server that stands still, and loses nothing.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	node := s.Nodes()[0].(*child.Process)
	seen, _, _ := watching(t, s, "p/")
	client := rawClient(t, s)
	for _, key := range []string{"p/a", "p/b"} {
		if err := node.SignalStop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := node.Stopped(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := node.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
		put, err := client.Put(t.Context(), key, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if got, want := <-seen, (Deleted{Key: key, CreateRevision: put.Header.Revision}); got != want {
			t.Fatalf("saw %+v, want %+v", got, want)
		}
	}
}

// Without the previous value nobody can say whose lease ended: no guess, an error.
func TestDeletionWithoutItsPast(t *testing.T) {
	t.Parallel()
	err := report([]*clientv3.Event{{Type: clientv3.EventTypeDelete, Kv: keyValue("p/a")}}, func(Deleted) { t.Error("reported") })
	if err == nil || !strings.Contains(err.Error(), "p/a") {
		t.Fatal(err)
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	client := rawClient(t, s)
	if _, err := client.Put(t.Context(), "p/a", ""); err != nil {
		t.Fatal(err)
	}
	for prefix, empty := range map[string]bool{"p/": false, "p/a": false, "p/b": true, "q": true, "": false} {
		if err := Empty(t.Context(), s.Endpoints(), prefix); (err == nil) != empty {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}
