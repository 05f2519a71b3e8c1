// Package store is what grants leases: the interfaces of a lock store that was
// brought up, or connected to, for a campaign.
//
// One package below this one knows one way to have a store: embedded (the real
// server in a child process of our own), container, external (endpoints given).
package store

import "context"

// Provision is a way to have a store.
type Provision string

// The provisions.
const (
	Embedded  Provision = "embedded"
	Container Provision = "container"
	External  Provision = "external"
)

// Provisions lists them in the order in which they are preferred.
func Provisions() []Provision { return []Provision{Embedded, Container, External} }

// Topology is how many servers of a store stand in which relation: the part behind
// the @ of a lock's name in a cell, "" for the store's own first.
type Topology string

// Options says how a store is to be brought up.
type Options struct {
	Campaign  string   // id of the campaign, for labels and names of what is created
	Dir       string   // for logs, and for data where it lies on this host
	Topology  Topology // one of those that the catalog names for the store
	Image     string   // container: image reference; "": the default of the kind
	Endpoints []string // external: where the store is
	// Progress is told, in a few words, what is going on. It is never nil.
	Progress func(text string)
}

// Store is a running lock store.
type Store interface {
	// Kind is the store's name: "etcd", "redis", ...
	Kind() string
	// Endpoints are the addresses at which its clients reach it. They stay the same
	// over restarts of its nodes.
	Endpoints() []string
	// Versions names what runs, for the run record: {"etcd": "3.7.3"}; and, for a
	// container, the image: {"image etcd": "sha256:..."}.
	Versions() map[string]string
	// Nodes are the store's servers, in a fixed order. An external store has none.
	Nodes() []Node
	// Down is closed when the store ends without having been asked to.
	Down() <-chan struct{}
	// Stop ends the store and removes what it left behind, except for its logs. It
	// undoes any fault that is still in force. It may be called more than once.
	Stop(ctx context.Context) error
}

// Node is one server of a store. What can be done to it depends on where it runs:
// see the interfaces below, which a Node may satisfy.
type Node interface {
	// Name is unique within the store: "etcd-1".
	Name() string
}

// Stopper is a node that can be stopped with SIGSTOP and continued.
type Stopper interface {
	SignalStop(ctx context.Context) error
	// Stopped returns when the node is seen stopped.
	Stopped(ctx context.Context) error
	Continue(ctx context.Context) error
}

// Freezer is a node whose processes can be frozen all at once (docker pause: the
// cgroup freezer), which they can't observe.
type Freezer interface {
	Freeze(ctx context.Context) error
	Thaw(ctx context.Context) error
}

// Killer is a node that can be killed and brought up again.
type Killer interface {
	Kill(ctx context.Context) error
	// Restart brings the node up again and returns when it answers; without its data
	// if keep is false.
	Restart(ctx context.Context, keep bool) error
}

// Peer is a node that can be cut off from its peers, while its clients still reach it.
type Peer interface {
	Disconnect(ctx context.Context) error
	Connect(ctx context.Context) error
}
