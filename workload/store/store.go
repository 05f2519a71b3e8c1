// Package store is what grants leases: the interfaces of a lock store that was
// brought up, or connected to, for a campaign.
package store

import "context"

// Store is a running lock store.
type Store interface {
	// Kind is the store's name: "etcd", "redis", ...
	Kind() string
	// Endpoints are the addresses at which its clients reach it.
	Endpoints() []string
	// Versions names what runs, for the run record: {"etcd": "3.7.3"}.
	Versions() map[string]string
	// Nodes are the store's servers, in a fixed order.
	Nodes() []Node
	// Down is closed when the store ends without having been asked to.
	Down() <-chan struct{}
	// Stop ends the store and removes what it left behind, except for its logs. It
	// undoes any fault that is still in force. It may be called more than once.
	Stop(ctx context.Context) error
}

// Node is one server of a store.
type Node interface {
	// Name is unique within the store: "etcd-1".
	Name() string
}
