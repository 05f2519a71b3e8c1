package container_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold-checker/leasehold/workload/store"
)

func redisAt(t *testing.T, endpoint string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: endpoint, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	return c
}

// A frozen node answers nobody, and goes on where it was; a restart is at the same
// address, with or without the data. It ends frozen: Stop removes it all the same.
func TestFreezeAndRestart(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, "redis", "1")
	ctx, endpoint, node := t.Context(), s.Endpoints()[0], s.Nodes()[0]
	must(t, redisAt(t, endpoint).Set(ctx, "k", "v", 0).Err())
	for range 2 { // each fault may be asked for twice
		must(t, node.(store.Freezer).Freeze(ctx))
	}
	if !silent("redis", endpoint) {
		t.Error("it answers, frozen")
	}
	for range 2 {
		must(t, node.(store.Freezer).Thaw(ctx))
	}
	if got := redisAt(t, endpoint).Get(ctx, "k").Val(); got != "v" {
		t.Errorf("after a thaw: %q", got)
	}
	must(t, node.(store.Freezer).Freeze(ctx))
	must(t, node.(store.Killer).Kill(ctx))
	must(t, node.(store.Killer).Restart(ctx, true))
	if got := redisAt(t, endpoint).Get(ctx, "k").Val(); got != "v" {
		t.Errorf("after a restart with data: %q", got)
	}
	must(t, node.(store.Killer).Restart(ctx, false))
	if err := redisAt(t, endpoint).Get(ctx, "k").Err(); err != goredis.Nil {
		t.Errorf("after a restart without data: %v", err)
	}
	if s.Endpoints()[0] != endpoint {
		t.Errorf("moved from %s to %s", endpoint, s.Endpoints()[0])
	}
	select {
	case <-s.Down():
		t.Error("down, though it was killed by us")
	default:
	}
	must(t, node.(store.Freezer).Freeze(ctx))
}

// A server that ends by itself, or by another's hand, is told.
func TestDown(t *testing.T) {
	t.Parallel()
	s, o := begin(t, "redis", "5")
	api := docker(t)
	found, err := api.ContainerList(t.Context(), client.ContainerListOptions{
		Filters: make(client.Filters).Add("label", "leasehold.campaign="+o.Campaign),
	})
	must(t, err)
	if len(found.Items) != 5 {
		t.Fatalf("%d containers", len(found.Items))
	}
	_, err = api.ContainerKill(t.Context(), found.Items[2].ID, client.ContainerKillOptions{Signal: "KILL"})
	must(t, err)
	select {
	case <-s.Down():
	case <-time.After(time.Minute):
		t.Error("nobody was told")
	}
}

// A stopped node is seen stopped, answers nobody, and goes on. It ends stopped.
func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"redis", "etcd", "zookeeper", "nats"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, _ := begin(t, kind, "1")
			ctx, node := t.Context(), s.Nodes()[0].(store.Stopper)
			must(t, node.SignalStop(ctx))
			must(t, node.Stopped(ctx))
			if !silent(kind, s.Endpoints()[0]) {
				t.Error("it answers, stopped")
			}
			must(t, node.Continue(ctx))
			eventually(t, "answering", func() bool { return answers(kind, s.Endpoints()[0]) })
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			if err := node.Stopped(short); err == nil {
				t.Error("seen stopped, though it runs")
			}
			must(t, node.SignalStop(ctx))
		})
	}
}

// PostgreSQL is a family of processes: a stop of its first one would stop nothing. It
// can be frozen, and killed.
func TestPostgres(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, "postgres", "1")
	ctx, endpoint, node := t.Context(), s.Endpoints()[0], s.Nodes()[0]
	if _, ok := node.(store.Stopper); ok {
		t.Error("it can be stopped")
	}
	must(t, node.(store.Freezer).Freeze(ctx))
	if !silent("postgres", endpoint) {
		t.Error("it answers, frozen")
	}
	must(t, node.(store.Freezer).Thaw(ctx))
	must(t, node.(store.Killer).Restart(ctx, true))
	must(t, node.(store.Killer).Restart(ctx, false))
	if silent("postgres", endpoint) {
		t.Error("it does not answer after a restart")
	}
}

// What is written at the primary does not reach a replica that is cut off, and does
// when the cut heals.
func TestReplica(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, "redis", "replica")
	ctx := t.Context()
	primary, replica := redisAt(t, s.Endpoints()[0]), redisAt(t, s.Endpoints()[1])
	arrived := func(key string) bool { return replica.Exists(ctx, key).Val() == 1 }
	must(t, primary.Set(ctx, "before", "v", 0).Err())
	eventually(t, "replicated", func() bool { return arrived("before") })
	peer := s.Nodes()[1].(store.Peer)
	for range 2 {
		must(t, peer.Disconnect(ctx))
	}
	must(t, primary.Set(ctx, "after", "v", 0).Err())
	must(t, replica.Ping(ctx).Err())
	if arrived("after") {
		t.Error("it arrives in spite of the cut")
	}
	for range 2 {
		must(t, peer.Connect(ctx))
	}
	eventually(t, "replicated after the cut", func() bool { return arrived("after") })
}

func etcdAt(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// leader is the id of the leader in the eyes of one node; 0 if it knows none.
func leader(t *testing.T, c *clientv3.Client) (leader, self uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return 0, 0
	}
	return status.Leader, status.Header.MemberId
}

// The leader of three is cut off from its peers: they elect another, while it, still
// reached by its clients, knows no leader any more. Then the cut heals.
func TestPartition(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, "etcd", "3")
	ctx := t.Context()
	var clients []*clientv3.Client
	for _, endpoint := range s.Endpoints() {
		clients = append(clients, etcdAt(t, endpoint))
	}
	old := 0
	eventually(t, "a leader", func() bool {
		for i, c := range clients {
			if lead, self := leader(t, c); lead != 0 && lead == self {
				old = i
				return true
			}
		}
		return false
	})
	others := []*clientv3.Client{clients[(old+1)%3], clients[(old+2)%3]}
	before, _ := leader(t, clients[old])
	peer := s.Nodes()[old].(store.Peer)
	must(t, peer.Disconnect(ctx))
	for _, c := range others {
		eventually(t, "a new leader", func() bool {
			lead, _ := leader(t, c)
			return lead != 0 && lead != before
		})
	}
	eventually(t, "without a leader", func() bool {
		lead, self := leader(t, clients[old])
		return lead == 0 && self != 0
	})
	_, err := clients[old].Get(clientv3.WithRequireLeader(ctx), "k")
	if err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("the node that is cut off says %v", err)
	}
	_, err = others[0].Put(ctx, "k", "v")
	must(t, err)
	// It is killed while it is cut off, and comes back when the cut has healed.
	must(t, s.Nodes()[old].(store.Killer).Kill(ctx))
	must(t, peer.Connect(ctx))
	must(t, s.Nodes()[old].(store.Killer).Restart(ctx, true))
	got, err := clients[old].Get(ctx, "k")
	if err != nil || got.Count != 1 {
		t.Errorf("after the cut: %v, %v", got, err)
	}
	// Without its data it comes back as a new member, and gets them from the others.
	must(t, s.Nodes()[old].(store.Killer).Restart(ctx, false))
	got, err = clients[old].Get(ctx, "k")
	if err != nil || got.Count != 1 {
		t.Errorf("after the loss of its data: %v, %v", got, err)
	}
}

// A server of an ensemble comes back empty, and gets the data from the others.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	s, _ := begin(t, "zookeeper", "3")
	must(t, s.Nodes()[1].(store.Killer).Restart(t.Context(), false))
	must(t, s.Nodes()[2].(store.Peer).Disconnect(t.Context()))
	eventually(t, "out of service", func() bool { return silent("zookeeper", s.Endpoints()[2]) })
	eventually(t, "served by two of three", func() bool { return answers("zookeeper", s.Endpoints()[1]) })
	must(t, s.Nodes()[2].(store.Peer).Connect(t.Context()))
	eventually(t, "back in service", func() bool { return answers("zookeeper", s.Endpoints()[2]) })
}
