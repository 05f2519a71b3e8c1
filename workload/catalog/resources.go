//go:build linux

package catalog

import (
	"context"
	"strings"

	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/resource/etcd"
	"github.com/leasehold-checker/leasehold/workload/resource/postgres"
	"github.com/leasehold-checker/leasehold/workload/resource/redis"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
)

func resources() []campaign.Resource {
	return []campaign.Resource{
		{
			Name: "register", Connect: register.Dial, Start: register.Start,
			Doc: "a small server of our own: value, fence and commit number in one atomic step",
		},
		{
			Name: "postgres", Store: "postgres", Connect: postgres.Dial,
			Doc:   "a row, changed by one conditional UPDATE in autocommit",
			Start: space(func(store []string, name string) string { return postgres.Endpoint(store[0], name) }, postgres.Prepare, postgres.Remove),
		},
		{
			Name: "redis", Store: "redis", Connect: redis.Dial,
			Doc:   "keys, changed by one Lua script",
			Start: space(func(store []string, name string) string { return redis.Endpoint(store[0], name) }, redis.Prepare, nil),
		},
		{
			Name: "etcd", Store: "etcd", Connect: etcd.Dial,
			Doc:   "keys, changed by one transaction, which also requires the key of an etcd lock",
			Start: space(etcd.Endpoint, etcd.Prepare, etcd.Remove),
		},
	}
}

// space makes a resource of a part of a store that the campaign brings up anyway.
func space(endpoint func(store []string, name string) string,
	prepare func(context.Context, string, resource.ServerOptions) error,
	remove func(context.Context, string) error,
) func(context.Context, *child.Starter, resource.ServerOptions) (resource.Server, error) {
	return func(ctx context.Context, _ *child.Starter, o resource.ServerOptions) (resource.Server, error) {
		s := &spaceServer{endpoint: endpoint(o.Store, strings.TrimSuffix(o.Prefix, "/")), remove: remove, done: make(chan struct{})}
		if err := prepare(ctx, s.endpoint, o); err != nil {
			return nil, err
		}
		return s, nil
	}
}

// spaceServer is a part of a store. It ends with the store, which is watched itself.
type spaceServer struct {
	endpoint string
	remove   func(context.Context, string) error // nil: it goes with the store
	done     chan struct{}
}

func (s *spaceServer) Endpoint() string            { return s.endpoint }
func (s *spaceServer) Versions() map[string]string { return nil }
func (s *spaceServer) Done() <-chan struct{}       { return s.done }

func (s *spaceServer) Stop(ctx context.Context) error {
	if s.remove == nil {
		return nil
	}
	return s.remove(ctx, s.endpoint)
}
