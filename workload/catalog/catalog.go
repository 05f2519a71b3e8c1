//go:build linux

// Package catalog is the explicit list of what leasehold can drive: the locks, the
// resources and the stores. Nothing registers itself; what is not in these tables
// does not exist.
package catalog

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock/etcd"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

// All is the whole catalog.
func All() campaign.Catalog {
	return campaign.Catalog{Locks: locks(), Resources: resources(), Stores: stores()}
}

func locks() []campaign.Lock {
	return []campaign.Lock{{
		Name:      "etcd-mutex",
		Doc:       "concurrency.Mutex of etcd's Go client; the token is the create revision of the lock key",
		Store:     "etcd",
		Tokens:    true,
		Connect:   etcd.New,
		LeastTTL:  etcd.LeastTTL,
		Slack:     etcd.ExpirySlack,
		LockDelay: etcd.LockDelay,
		Poll:      etcd.Poll,
		OwnThread: true,
	}}
}

func resources() []campaign.Resource {
	return []campaign.Resource{{
		Name:    "register",
		Doc:     "a small server of our own: value, fence and commit number in one atomic step",
		Connect: register.Dial,
		Start:   register.Start,
	}}
}

func stores() []campaign.Store {
	return []campaign.Store{{
		Name: "etcd",
		Start: func(ctx context.Context, starter *child.Starter, dir string) (store.Store, error) {
			return embedded.StartEtcd(ctx, starter, filepath.Join(dir, "data"), filepath.Join(dir, "store.log"))
		},
		Empty: etcd.Empty,
		Watch: func(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(campaign.Ended)) error {
			return etcd.Watch(ctx, endpoints, prefix, ready, func(d etcd.Deleted) {
				name := strings.TrimPrefix(d.Key, prefix)
				if cut := strings.LastIndexByte(name, '/'); cut >= 0 {
					name = name[:cut]
				}
				sink(campaign.Ended{LockName: name, Token: d.CreateRevision})
			})
		},
	}}
}
