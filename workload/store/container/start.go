package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"golang.org/x/sync/errgroup"

	"github.com/leasehold-checker/leasehold/workload/store"
)

// undoLimit is for the removal of what a failed start has left behind, which goes on
// when the start was cancelled.
const undoLimit = time.Minute

// Etcd brings up etcd, as one node or as a cluster of three.
func Etcd(ctx context.Context, o store.Options) (store.Store, error) { return Start(ctx, "etcd", o) }

// Redis brings up Redis: one server, five that know nothing of each other (for
// Redlock), or a "replica": a primary, then its replica.
func Redis(ctx context.Context, o store.Options) (store.Store, error) { return Start(ctx, "redis", o) }

// ZooKeeper brings up ZooKeeper, as one server or as an ensemble of three.
func ZooKeeper(ctx context.Context, o store.Options) (store.Store, error) {
	return Start(ctx, "zookeeper", o)
}

// Postgres brings up one PostgreSQL server.
func Postgres(ctx context.Context, o store.Options) (store.Store, error) {
	return Start(ctx, "postgres", o)
}

// Consul brings up one Consul server.
func Consul(ctx context.Context, o store.Options) (store.Store, error) {
	return Start(ctx, "consul", o)
}

// NATS brings up one NATS server with JetStream.
func NATS(ctx context.Context, o store.Options) (store.Store, error) { return Start(ctx, "nats", o) }

// Start brings up a store of the kind in the topology o.Topology, and returns when each
// of its nodes has done what it is for. Each node writes its log to a file of its name
// in o.Dir, and keeps its data on a volume. If Start fails, nothing is left behind but
// the logs.
func Start(ctx context.Context, kindName string, o store.Options) (store.Store, error) {
	k, ok := kinds()[kindName]
	if !ok {
		return nil, fmt.Errorf("start %q: no such store in a container; there are %v", kindName, Kinds())
	}
	t, err := k.topology(o.Topology)
	if err != nil {
		return nil, fmt.Errorf("start %w", err)
	}
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	s := newStore(e, k, t, o)
	if err := s.start(ctx); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start %s: %w", kindName, err), s.Stop(undo))
	}
	return s, nil
}

// started is a store in containers.
type started struct {
	engine   *engine
	kind     kind
	topology topology
	options  store.Options
	image    Image
	prefix   string // of the names of all that is made
	peerNet  string // name of the network of the peers; "" if there are none
	networks []string
	nodes    []*node
	down     chan struct{}
	downOnce sync.Once
	version  string
}

func newStore(e *engine, k kind, t topology, o store.Options) *started {
	s := &started{
		engine: e, kind: k, topology: t, options: o, down: make(chan struct{}),
		prefix: fmt.Sprintf("leasehold-%s-%s", safe(o.Campaign), unique()),
	}
	for i := range t.nodes {
		name := fmt.Sprintf("%s-%d", k.name, i+1)
		s.nodes = append(s.nodes, newNode(s, place{topology: t, index: i, name: name}))
	}
	return s
}

func (s *started) start(ctx context.Context) (err error) {
	if s.image, err = s.engine.choose(ctx, s.kind, s.options.Image, s.options.Progress); err != nil {
		return err
	}
	if err := os.MkdirAll(s.options.Dir, 0o755); err != nil {
		return err
	}
	if err := s.connectNetworks(ctx); err != nil {
		return err
	}
	begun := time.Now()
	s.options.Progress(fmt.Sprintf("%s: starting %s from %s", s.kind.name, nodes(s.topology.nodes), s.image.Ref))
	// Peers may wait for each other: they start at the same time.
	all, gctx := errgroup.WithContext(ctx)
	for _, n := range s.nodes {
		all.Go(func() error { return n.bringUp(gctx) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	s.version = s.nodes[0].version
	s.options.Progress(fmt.Sprintf("%s: %s ready after %.1f s", s.kind.name, s.version, time.Since(begun).Seconds()))
	return nil
}

func nodes(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// connectNetworks makes two networks for nodes that know each other: one through which
// clients come in, and one for the nodes alone, from which one can be cut off.
func (s *started) connectNetworks(ctx context.Context) error {
	if !s.topology.peers {
		return nil
	}
	ctx, cancel := unbroken(ctx)
	defer cancel()
	for _, internal := range []bool{false, true} {
		name := s.prefix + "-public"
		if internal {
			name = s.prefix + "-peers"
			s.peerNet = name
		}
		// Remembered before it is made: a call that failed may have made it.
		s.networks = append(s.networks, name)
		_, err := s.engine.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{
			Driver: "bridge", Internal: internal, Labels: s.labels(),
		})
		if err != nil {
			return fmt.Errorf("make a network: %w", err)
		}
	}
	return nil
}

// labels are ours and, if Ryuk is used, those by which it finds what it must remove.
func (s *started) labels() map[string]string {
	labels := map[string]string{labelOurs: "1", labelCampaign: s.options.Campaign}
	maps.Copy(labels, testcontainers.GenericLabels())
	return labels
}

// Kind is the name of the store.
func (s *started) Kind() string { return s.kind.name }

// Endpoints are in the order of the nodes.
func (s *started) Endpoints() []string {
	var all []string
	for _, n := range s.nodes {
		all = append(all, n.place.endpoint)
	}
	return all
}

// Versions are what the first node says of itself, and the image.
func (s *started) Versions() map[string]string {
	return map[string]string{s.kind.name: s.version, "image " + s.kind.name: s.image.Ref + " (" + s.image.ID + ")"}
}

// Nodes are in a fixed order: the primary first.
func (s *started) Nodes() []store.Node {
	var all []store.Node
	for _, n := range s.nodes {
		all = append(all, n.handle())
	}
	return all
}

// Down is closed when a container ends that nobody killed through its node.
func (s *started) Down() <-chan struct{} { return s.down }

func (s *started) fell() { s.downOnce.Do(func() { close(s.down) }) }

// Stop removes the containers, paused, stopped or running, then their volumes and
// networks. What is gone already is no error.
func (s *started) Stop(ctx context.Context) error {
	errs := make([]error, len(s.nodes))
	var all sync.WaitGroup
	for i, n := range s.nodes {
		all.Go(func() { errs[i] = n.remove(ctx) })
	}
	all.Wait()
	for _, name := range s.networks {
		errs = append(errs, s.engine.removeNetwork(ctx, name))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop %s: %w", s.kind.name, err)
	}
	return nil
}

// safe makes a campaign's id fit for the name of a container.
func safe(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, id)
}
