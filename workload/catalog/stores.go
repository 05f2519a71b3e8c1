//go:build linux

package catalog

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock/consul"
	"github.com/leasehold-checker/leasehold/workload/lock/etcd"
	"github.com/leasehold-checker/leasehold/workload/lock/nats"
	"github.com/leasehold-checker/leasehold/workload/lock/postgres"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
	"github.com/leasehold-checker/leasehold/workload/lock/zookeeper"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
	"github.com/leasehold-checker/leasehold/workload/store/external"
)

func stores() []campaign.Store {
	return []campaign.Store{
		{
			Name: "etcd", Doc: "etcd", Topologies: container.Topologies("etcd"), Empty: etcd.Empty, Watch: watchEtcd,
			Providers: append(inChild(embedded.StartEtcd), elsewhere("etcd")...),
		},
		{
			Name: "redis", Doc: "Redis", Topologies: container.Topologies("redis"), Empty: redis.Empty,
			Providers: elsewhere("redis"),
		},
		{
			Name: "zookeeper", Doc: "ZooKeeper", Topologies: container.Topologies("zookeeper"), Empty: zookeeper.Empty, Watch: watchZooKeeper,
			Providers: elsewhere("zookeeper"),
		},
		{
			Name: "consul", Doc: "Consul", Topologies: container.Topologies("consul"), Empty: consul.Empty, Watch: watchConsul,
			Providers: elsewhere("consul"),
		},
		{
			Name: "postgres", Doc: "PostgreSQL", Topologies: container.Topologies("postgres"), Empty: postgres.Empty,
			Providers: elsewhere("postgres"),
		},
		{
			Name: "nats", Doc: "NATS JetStream", Topologies: container.Topologies("nats"), Empty: nats.Empty, Watch: watchNATS,
			Providers: append(inChild(embedded.StartNATS), elsewhere("nats")...),
		},
	}
}

// inChild is a store of one node in a child process of our own.
func inChild(start func(ctx context.Context, starter *child.Starter, dir, log string) (store.Store, error)) []campaign.Provider {
	return []campaign.Provider{{
		Provision: store.Embedded, Topologies: []store.Topology{"1"},
		Start: func(ctx context.Context, starter *child.Starter, o store.Options) (store.Store, error) {
			return start(ctx, starter, filepath.Join(o.Dir, "data"), filepath.Join(o.Dir, "store.log"))
		},
	}}
}

// elsewhere is a store in containers, or one that is there already.
func elsewhere(kind string) []campaign.Provider {
	return []campaign.Provider{{
		Provision: store.Container,
		Start: func(ctx context.Context, _ *child.Starter, o store.Options) (store.Store, error) {
			return container.Start(ctx, kind, o)
		},
	}, {
		Provision: store.External,
		Start: func(ctx context.Context, _ *child.Starter, o store.Options) (store.Store, error) {
			return external.Connect(ctx, kind, o, func(ctx context.Context, endpoint string) (string, error) {
				return container.Ready(ctx, kind, endpoint)
			})
		},
	}}
}

func watchEtcd(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(campaign.Ended)) error {
	return etcd.Watch(ctx, endpoints, prefix, ready, func(d etcd.Deleted) {
		name := strings.TrimPrefix(d.Key, prefix)
		if cut := strings.LastIndexByte(name, '/'); cut >= 0 {
			name = name[:cut]
		}
		sink(campaign.Ended{LockName: name, Token: d.CreateRevision})
	})
}

func watchNATS(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(campaign.Ended)) error {
	return nats.Watch(ctx, endpoints, prefix, ready, func(e nats.Ended) {
		sink(campaign.Ended{LockName: e.Name, Token: e.Token})
	})
}

func watchZooKeeper(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(campaign.Ended)) error {
	return zookeeper.Watch(ctx, endpoints, prefix, ready, func(e zookeeper.Ended) {
		sink(campaign.Ended{LockName: e.Name, Token: e.Token})
	})
}

func watchConsul(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(campaign.Ended)) error {
	return consul.Watch(ctx, endpoints, prefix, ready, func(e consul.Ended) {
		sink(campaign.Ended{LockName: e.Name, Token: e.Token})
	})
}
