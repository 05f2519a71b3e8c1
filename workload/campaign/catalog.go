package campaign

import (
	"context"
	"time"

	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// Catalog is what there is to choose from.
type Catalog struct {
	Locks     []Lock
	Resources []Resource
	Stores    []Store
}

// Lock is a lock of the catalog, and what is known of its time.
type Lock struct {
	Name    string // "etcd-mutex"
	Doc     string // one line
	Store   string // name of its store
	Tokens  bool   // whether it issues fencing tokens
	Connect lock.Factory

	LeastTTL  time.Duration // the store grants no shorter lease
	Slack     time.Duration // so much later than its ttl a lease may end
	LockDelay time.Duration // so long after its end nobody is granted the lock
	Poll      time.Duration // so long a waiter may take to notice
	OwnThread bool          // the client library renews on a thread of its own
}

// Resource is a resource of the catalog.
type Resource struct {
	Name    string // "register"
	Doc     string
	Connect resource.Factory
	// Start brings a server up, for one cell.
	Start func(ctx context.Context, starter *child.Starter, o resource.ServerOptions) (resource.Server, error)
}

// Store is a lock store of the catalog.
type Store struct {
	Name string
	// Start brings the store up, with its data and its log below dir.
	Start func(ctx context.Context, starter *child.Starter, dir string) (store.Store, error)
	// Empty returns an error if a key with the prefix exists.
	Empty func(ctx context.Context, endpoints []string, prefix string) error
	// Watch reports what the store is seen to do with the keys below the prefix,
	// until ctx ends. It calls ready once, when nothing from then on can be missed.
	Watch func(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(Ended)) error
}

// Ended is a grant that the store was seen to end, for whatever reason.
type Ended struct {
	LockName string
	Token    int64
}

// Registry is what a worker process needs of the catalog.
func (c Catalog) Registry() workload.Registry {
	r := workload.Registry{Locks: map[string]lock.Factory{}, Resources: map[string]resource.Factory{}}
	for _, l := range c.Locks {
		r.Locks[l.Name] = l.Connect
	}
	for _, s := range c.Resources {
		r.Resources[s.Name] = s.Connect
	}
	return r
}

// named finds an entry by its name.
func named[T any](list []T, name func(T) string, want string) (T, []string, bool) {
	var names []string
	for _, e := range list {
		if name(e) == want {
			return e, nil, true
		}
		names = append(names, name(e))
	}
	var none T
	return none, names, false
}

func (c Catalog) lock(name string) (Lock, error) {
	l, names, ok := named(c.Locks, func(l Lock) string { return l.Name }, name)
	if !ok {
		return l, usagef("unknown lock %q: there are %v", name, names)
	}
	return l, nil
}

func (c Catalog) resource(name string) (Resource, error) {
	r, names, ok := named(c.Resources, func(r Resource) string { return r.Name }, name)
	if !ok {
		return r, usagef("unknown resource %q: there are %v", name, names)
	}
	return r, nil
}

func (c Catalog) store(name string) (Store, error) {
	s, names, ok := named(c.Stores, func(s Store) string { return s.Name }, name)
	if !ok {
		return s, usagef("unknown store %q: there are %v", name, names)
	}
	return s, nil
}
