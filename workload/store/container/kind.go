package container

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/leasehold-checker/leasehold/workload/store"
)

// kind is all that is particular about one store.
type kind struct {
	name  string
	image string // the pinned upstream one
	port  int    // for clients, in the container
	// topologies are those that it can be brought up in, its own first.
	topologies []topology
	// endpoint is what clients are told of the host:port at which a node is published.
	endpoint func(address string) string
	// command is the command line of a node, and its environment.
	command func(p place) (cmd []string, env map[string]string)
	// ready does what the store is for, at one node, and returns the server's version.
	// It leaves nothing behind.
	ready func(ctx context.Context, p place) (version string, err error)
	// forks says that the server is a family of processes, the first of which can be
	// stopped while the others go on: a stop of that one alone would be no stop.
	forks bool
	// replace prepares a cluster, of which others are in service, for a node that comes
	// back without its data; nil if nothing has to be done.
	replace func(ctx context.Context, p place, others []string) error
}

// topology is a number of nodes, which know each other or do not.
type topology struct {
	name  store.Topology
	nodes int
	peers bool
}

// place is what a node's command line and ready check depend on.
type place struct {
	topology topology
	index    int    // from 0
	name     string // "etcd-1"
	own      bool   // the image is ours
	joins    bool   // a cluster that is there already: see kind.replace
	endpoint string // at which its clients reach it
}

// peer is the name of a node, by its index, on the network of the peers.
func peer(index int) string { return fmt.Sprintf("p%d", index+1) }

func kinds() map[string]kind {
	all := map[string]kind{}
	for _, k := range []kind{etcdKind(), redisKind(), zookeeperKind(), postgresKind(), consulKind(), natsKind()} {
		all[k.name] = k
	}
	return all
}

// Topologies are those in which Start can bring the kind up, its own first; nil if it
// does not know the kind.
func Topologies(kind string) []store.Topology {
	var names []store.Topology
	for _, t := range kinds()[kind].topologies {
		names = append(names, t.name)
	}
	return names
}

// Ready does at an endpoint what a store of the kind is for, leaves nothing behind, and
// returns the version of the server: for a store that somebody else has brought up.
func Ready(ctx context.Context, kind, endpoint string) (version string, err error) {
	k, ok := kinds()[kind]
	if !ok {
		return "", fmt.Errorf("check %q: no such store; there are %v", kind, Kinds())
	}
	return k.ready(ctx, place{topology: oneNode(), name: unique(), endpoint: endpoint})
}

func (k kind) topology(name store.Topology) (topology, error) {
	if name == "" {
		return k.topologies[0], nil
	}
	at := slices.IndexFunc(k.topologies, func(t topology) bool { return t.name == name })
	if at < 0 {
		return topology{}, fmt.Errorf("%s in a container runs as %v, not as %q", k.name, Topologies(k.name), name)
	}
	return k.topologies[at], nil
}

func oneNode() topology           { return topology{name: "1", nodes: 1} }
func clustered(n int) topology    { return topology{name: count(n), nodes: n, peers: true} }
func independent(n int) topology  { return topology{name: count(n), nodes: n} }
func count(n int) store.Topology  { return store.Topology(strconv.Itoa(n)) }
func plain(address string) string { return address }
func web(address string) string   { return "http://" + address }
