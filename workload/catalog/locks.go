//go:build linux

package catalog

import (
	"time"

	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/lock/consul"
	"github.com/leasehold-checker/leasehold/workload/lock/etcd"
	"github.com/leasehold-checker/leasehold/workload/lock/nats"
	"github.com/leasehold-checker/leasehold/workload/lock/postgres"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
	"github.com/leasehold-checker/leasehold/workload/lock/redislock"
	"github.com/leasehold-checker/leasehold/workload/lock/redsync"
	"github.com/leasehold-checker/leasehold/workload/lock/zookeeper"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container"
)

func locks() []campaign.Lock {
	return []campaign.Lock{
		{
			Name: "etcd-mutex", Store: "etcd", Tokens: true, Connect: etcd.New,
			Doc:      "concurrency.Mutex of etcd's Go client; the token is the create revision of the lock key",
			LeastTTL: etcd.LeastTTL, TTLStep: time.Second, Slack: etcd.ExpirySlack, LockDelay: etcd.LockDelay, Poll: etcd.Poll, OwnThread: true,
		},
		{
			Name: "etcd-election", Store: "etcd", Tokens: true, Connect: etcd.NewElection,
			Doc:      "concurrency.Election of etcd's Go client; the token is its revision",
			LeastTTL: etcd.LeastTTL, TTLStep: time.Second, Slack: etcd.ExpirySlack, LockDelay: etcd.LockDelay, Poll: etcd.Poll, OwnThread: true,
		},
		{
			Name: "redis-set", Store: "redis", Topologies: singleRedis(), Connect: redis.NewSet,
			Doc:      "the textbook: SET NX PX, and a compare-and-delete script; no token",
			LeastTTL: redis.LeastTTL, Slack: redis.ExpirySlack, LockDelay: redis.LockDelay, Poll: redis.Poll, OwnThread: true,
		},
		{
			Name: "redis-counter", Store: "redis", Topologies: singleRedis(), Tokens: true, Connect: redis.NewCounter,
			Doc:      "the same, with a counter raised in the acquire's own script; the token is its value",
			LeastTTL: redis.LeastTTL, Slack: redis.ExpirySlack, LockDelay: redis.LockDelay, Poll: redis.Poll, OwnThread: true,
		},
		{
			Name: "redis-set+counter", Store: "redis", Topologies: singleRedis(), Tokens: true, Connect: redis.NewTwoStep,
			Doc:      "known-bad: the textbook, and a number drawn in a second step",
			LeastTTL: redis.LeastTTL, Slack: redis.ExpirySlack, LockDelay: redis.LockDelay, Poll: redis.Poll, OwnThread: true,
		},
		{
			Name: "redis-early", Store: "redis", Topologies: singleRedis(), Tokens: true, Connect: redis.NewEarly,
			Doc:      "known-bad: redis-counter on a store that ends every lease 50 ms before its time",
			LeastTTL: redis.LeastTTL, Slack: redis.ExpirySlack, LockDelay: redis.LockDelay, Poll: redis.Poll, OwnThread: true,
		},
		{
			Name: "redislock", Store: "redis", Topologies: singleRedis(), Connect: redislock.New,
			Doc:      "bsm/redislock; no token",
			LeastTTL: redislock.LeastTTL, Slack: redislock.ExpirySlack, LockDelay: redislock.LockDelay, Poll: redislock.Poll, OwnThread: true,
		},
		{
			Name: "redsync", Store: "redis", Topologies: []store.Topology{"1", "5"}, Connect: redsync.New,
			Doc:      "go-redsync/redsync, on one server or a majority of five; no token",
			LeastTTL: redsync.LeastTTL, Slack: redsync.ExpirySlack, LockDelay: redsync.LockDelay, Poll: redsync.Poll, OwnThread: true,
		},
		{
			Name: "zk-recipe", Store: "zookeeper", Tokens: true, Connect: zookeeper.NewRecipe,
			Doc:      "the documented recipe on ephemeral sequential nodes; the token is the czxid of the own node",
			LeastTTL: 2 * container.ZooKeeperTick, Slack: container.ZooKeeperTick, LockDelay: zookeeper.LockDelay, Poll: zookeeper.Poll, OwnThread: true,
		},
		{
			Name: "zk-lock", Store: "zookeeper", Connect: zookeeper.NewLock,
			Doc:      "Lock of go-zookeeper/zk as it is; no token can be reached",
			LeastTTL: 2 * container.ZooKeeperTick, Slack: container.ZooKeeperTick, LockDelay: zookeeper.LockDelay, Poll: zookeeper.Poll, OwnThread: true,
		},
		{
			Name: "consul", Store: "consul", Tokens: true, Connect: consul.New,
			Doc:      "Lock of hashicorp/consul/api; the token is the ModifyIndex of the key, read in a second step",
			LeastTTL: container.ConsulMinTTL, SlackOf: consul.ExpirySlack, LockDelay: consul.LockDelay, Poll: consul.Poll, OwnThread: true,
		},
		{
			Name: "pg-row", Store: "postgres", Tokens: true, Connect: postgres.NewRow,
			Doc:      "a lease row, taken by one UPDATE that compares with clock_timestamp(); the token is its epoch",
			LeastTTL: postgres.LeastTTL, Slack: postgres.ExpirySlack, LockDelay: postgres.LockDelay, Poll: postgres.Poll, OwnThread: true,
		},
		{
			Name: "pg-row-now", Store: "postgres", Tokens: true, Connect: postgres.NewRowNow,
			Doc:      "known-bad: the same with now(), which stands still while the UPDATE waits",
			LeastTTL: postgres.LeastTTL, Slack: postgres.ExpirySlack, LockDelay: postgres.LockDelay, Poll: postgres.Poll, OwnThread: true,
		},
		{
			Name: "pg-advisory", Store: "postgres", Connect: postgres.NewAdvisory, NoTTL: true, KillSession: postgres.KillSession, OwnThread: true,
			Doc: "a session-level advisory lock; no token, and no time to live",
		},
		{
			Name: "pg-advisory-sequence", Store: "postgres", Tokens: true, Connect: postgres.NewAdvisorySequence, NoTTL: true, KillSession: postgres.KillSession, OwnThread: true,
			Doc: "the same; the token is drawn from a sequence on the lock's own session",
		},
		{
			Name: "nats-kv", Store: "nats", Tokens: true, Connect: nats.New,
			Doc:      "a key of a JetStream bucket with a ttl, created, renewed by update; the token is the revision of the create",
			LeastTTL: nats.LeastTTL, TTLStep: time.Second, Slack: nats.ExpirySlack, LockDelay: nats.LockDelay, Poll: nats.Poll, OwnThread: true,
		},
	}
}

func singleRedis() []store.Topology { return []store.Topology{"1", "replica"} }
