//go:build linux

package etcd

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

// The election's token and key are those of the leader key, as the store has it.
func TestElectionToken(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	client, l := rawClient(t, s), newLockOf(t, s, "p/", NewElection)
	held, err := l.Acquire(t.Context(), "L", LeastTTL)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(t.Context(), "p/", clientv3.WithPrefix())
	if err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("%v, %v", answer, err)
	}
	kv := answer.Kvs[0]
	token, _ := held.Token()
	if key := held.(lock.Keyed).Key(); key != string(kv.Key) || key != "p/L/"+held.Session() || token != kv.CreateRevision {
		t.Errorf("key %q, token %d, session %s; the store has %v", key, token, held.Session(), kv)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A resignation that was never sent is forgotten by the library, which then says ok
// to the next one without asking. The release does not believe it: it is the end of
// the session that frees the lock.
func TestResignThatWasNeverSent(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	held, err := newLockOf(t, s, "p/", NewElection).Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = held.Release(ended)
	if _, definite := lock.IsDefinite(err); err == nil || definite {
		t.Fatalf("release without time: %v", err)
	}
	if err := Empty(t.Context(), s.Endpoints(), "p/"); err == nil {
		t.Fatal("the key is gone, though nothing was sent")
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Empty(t.Context(), s.Endpoints(), "p/"); err != nil {
		t.Error(err)
	}
}

// The library's own fault, as it is: a candidate whose session ended in the queue is
// told that it won. It is also told, by the same library, that its session is over.
func TestCampaignOfAnEndedSession(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	held, err := newLockOf(t, s, "p/", NewElection).Acquire(t.Context(), "L", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan string, 1)
	waiter, err := NewElection(t.Context(), lock.Options{Endpoints: s.Endpoints(), Prefix: "p/", Listener: announcer{began: began}})
	if err != nil {
		t.Fatal(err)
	}
	defer waiter.Close()
	type outcome struct {
		lease lock.Lease
		err   error
	}
	won := make(chan outcome, 1)
	go func() {
		lease, err := waiter.Acquire(t.Context(), "L", time.Minute)
		won <- outcome{lease, err}
	}()
	session, client := <-began, rawClient(t, s)
	for queued := int64(0); queued == 0; {
		answer, err := client.Get(t.Context(), "p/L/"+session)
		if err != nil {
			t.Fatal(err)
		}
		queued = answer.Count
	}
	if err := revokeSession(t.Context(), client, session); err != nil {
		t.Fatal(err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-won
	if got.err != nil {
		t.Fatalf("the library looks after its key now (mend NewElection's comment): %v", got.err)
	}
	<-got.lease.Lost()
	if holds, err := got.lease.Ask(t.Context()); holds || err != nil {
		t.Errorf("ask: %t, %v", holds, err)
	}
	err = got.lease.Release(t.Context())
	if _, definite := lock.IsDefinite(err); !definite {
		t.Errorf("release: %v", err)
	}
}
