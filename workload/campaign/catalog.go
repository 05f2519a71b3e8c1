package campaign

import (
	"context"
	"slices"
	"strings"
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
	Name       string           // "etcd-mutex"
	Doc        string           // one line
	Store      string           // name of its store
	Topologies []store.Topology // those of the store that it can run on, its own first; nil: all
	Tokens     bool             // whether it issues fencing tokens
	Connect    lock.Factory
	Driver     string // command of a driver, in place of Connect

	NoTTL     bool                                  // its leases end with a session, never by time
	LeastTTL  time.Duration                         // the store grants no shorter lease
	TTLStep   time.Duration                         // and only multiples of this, rounded up; 0: any
	Slack     time.Duration                         // so much later than its ttl a lease may end
	SlackOf   func(ttl time.Duration) time.Duration // the same, where it depends on the ttl
	LockDelay time.Duration                         // so long after its end nobody is granted the lock
	Poll      time.Duration                         // so long a waiter may take to notice
	// KillSession ends a session at the store from outside; nil where nobody can.
	KillSession func(ctx context.Context, endpoint, session string) error
	OwnThread   bool // it is renewed on a thread of its own, by the client library or the adapter
}

// Effective is what the store makes of a ttl that it is asked for.
func (l Lock) Effective(ttl time.Duration) time.Duration {
	ttl = max(ttl, l.LeastTTL)
	if l.TTLStep > 0 {
		ttl = (ttl + l.TTLStep - 1) / l.TTLStep * l.TTLStep
	}
	return ttl
}

// Resource is a resource of the catalog.
type Resource struct {
	Name    string // "register"
	Doc     string
	Store   string // name of the store that it lives in; "": none, it has a server of its own
	Connect resource.Factory
	// Start brings a server up for one cell, or prepares the cell's part of a store.
	Start func(ctx context.Context, starter *child.Starter, o resource.ServerOptions) (resource.Server, error)
}

// Store is a lock store of the catalog.
type Store struct {
	Name       string
	Doc        string
	Topologies []store.Topology // its own first
	Providers  []Provider       // in the order of preference
	// Empty returns an error if a key with the prefix exists.
	Empty func(ctx context.Context, endpoints []string, prefix string) error
	// Watch reports what the store is seen to do with the keys below the prefix,
	// until ctx ends. It calls ready once, when nothing from then on can be missed.
	// It is nil where the store can't tell which grant ended.
	Watch func(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(Ended)) error
}

// Provider is one way to have a store.
type Provider struct {
	Provision  store.Provision
	Topologies []store.Topology // that it can bring up; nil: all
	Start      func(ctx context.Context, starter *child.Starter, o store.Options) (store.Store, error)
}

// provider finds the way that was asked for, or the preferred one ("").
func (s Store) provider(p store.Provision, t store.Topology) (Provider, error) {
	var ways []string
	for _, w := range s.Providers {
		able := w.Topologies == nil || slices.Contains(w.Topologies, t)
		if able && (p == "" && w.Provision != store.External || p == w.Provision) {
			return w, nil
		}
		if able {
			ways = append(ways, string(w.Provision))
		}
	}
	return Provider{}, usagef("%s@%s can't be had by --provision %s: there are %v", s.Name, t, p, ways)
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

// lock finds a lock by its name, which may end in @ and a topology of its store.
func (c Catalog) lock(name string) (Lock, store.Topology, error) {
	base, topology, _ := strings.Cut(name, "@")
	l, names, ok := named(c.Locks, func(l Lock) string { return l.Name }, base)
	if !ok {
		return l, "", usagef("unknown lock %q: there are %v", base, names)
	}
	s, err := c.store(l.Store)
	if err != nil {
		return l, "", err
	}
	able := l.Topologies
	if able == nil {
		able = s.Topologies
	}
	switch t := store.Topology(topology); {
	case t == "":
		return l, able[0], nil
	case slices.Contains(able, t):
		return l, t, nil
	}
	return l, "", usagef("lock %q: %s runs on the topologies %v", name, base, able)
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
