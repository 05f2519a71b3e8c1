//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// NATSRole is the role of the child that is a NATS server: see NATSChild.
const NATSRole = "store-nats"

// NATSChild is the body of the child.
func NATSChild(ctx context.Context, parent *child.Parent) error {
	var config NATSConfig
	if err := parent.Config(&config); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var emitted error
	err := ServeNATS(ctx, config, func(endpoint string) {
		if emitted = parent.Emit(readyEvent{Event: "ready", Endpoint: endpoint}); emitted != nil {
			cancel()
		}
	})
	return errors.Join(err, emitted)
}

// NATS is a NATS server of one node, with JetStream, in a child process.
type NATS struct {
	process  *child.Process
	endpoint string
	dir      string
	down     chan struct{}
	stopping atomic.Bool
}

var _ store.Store = (*NATS)(nil)

// StartNATS starts NATS in a child process and returns when JetStream serves. Its
// data goes to dir, which Stop removes; its log to the file log. The executable must
// hand the role NATSRole to NATSChild. The node is a *child.Process.
func StartNATS(ctx context.Context, starter *child.Starter, dir, log string) (store.Store, error) {
	p, err := starter.Start(ctx, child.Spec{
		Role: NATSRole, Name: natsNode, Log: log, Config: NATSConfig{Dir: dir, Name: natsNode},
	})
	if err != nil {
		return nil, err
	}
	var ready readyEvent
	if err := p.First(ctx, &ready); err != nil {
		return nil, fmt.Errorf("start NATS: %w (log: %s)", err, log)
	}
	n := &NATS{process: p, endpoint: ready.Endpoint, dir: dir, down: make(chan struct{})}
	go func() {
		<-p.Done()
		if !n.stopping.Load() {
			close(n.down)
		}
	}()
	return n, nil
}

// Kind is "nats".
func (n *NATS) Kind() string { return "nats" }

// Endpoints is one URL.
func (n *NATS) Endpoints() []string { return []string{n.endpoint} }

// Versions is that of the library.
func (n *NATS) Versions() map[string]string { return map[string]string{"nats": server.VERSION} }

// Nodes is the one process.
func (n *NATS) Nodes() []store.Node { return []store.Node{n.process} }

// Down is closed when the process ends without Stop.
func (n *NATS) Down() <-chan struct{} { return n.down }

// Stop ends the process, stopped or not, and removes the data. How the process
// ended does not matter any more, only that it did.
func (n *NATS) Stop(ctx context.Context) error {
	n.stopping.Store(true)
	err := n.process.Close(ctx)
	select {
	case <-n.process.Done():
	default:
		return fmt.Errorf("stop NATS: %w", err)
	}
	if err := os.RemoveAll(n.dir); err != nil {
		return fmt.Errorf("remove NATS's data: %w", err)
	}
	return nil
}
