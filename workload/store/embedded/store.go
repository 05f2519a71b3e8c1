//go:build linux

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// EtcdRole is the role of the child that is an etcd server: see EtcdChild.
const EtcdRole = "store-etcd"

// readyEvent is what the child emits once it serves.
type readyEvent struct {
	Event    string `json:"event"` // "ready"
	Endpoint string `json:"endpoint"`
}

// EtcdChild is the body of the child.
func EtcdChild(ctx context.Context, parent *child.Parent) error {
	var config EtcdConfig
	if err := parent.Config(&config); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var emitted error
	err := ServeEtcd(ctx, config, func(endpoint string) {
		if emitted = parent.Emit(readyEvent{Event: "ready", Endpoint: endpoint}); emitted != nil {
			cancel()
		}
	})
	return errors.Join(err, emitted)
}

// Etcd is an etcd server of one node in a child process.
type Etcd struct {
	process  *child.Process
	endpoint string
	dir      string
	down     chan struct{}
	stopping atomic.Bool
}

var _ store.Store = (*Etcd)(nil)

// StartEtcd starts etcd in a child process and returns when it serves. Its data
// goes to dir, which Stop removes; its log to the file log. The executable must
// hand the role EtcdRole to EtcdChild. The node is a *child.Process.
func StartEtcd(ctx context.Context, starter *child.Starter, dir, log string) (store.Store, error) {
	p, err := starter.Start(ctx, child.Spec{
		Role: EtcdRole, Name: etcdNode, Log: log, Config: EtcdConfig{Dir: dir, Name: etcdNode},
	})
	if err != nil {
		return nil, err
	}
	var ready readyEvent
	if err := p.First(ctx, &ready); err != nil {
		return nil, fmt.Errorf("start etcd: %w (log: %s)", err, log)
	}
	e := &Etcd{process: p, endpoint: ready.Endpoint, dir: dir, down: make(chan struct{})}
	go func() {
		<-p.Done()
		if !e.stopping.Load() {
			close(e.down)
		}
	}()
	return e, nil
}

// Kind is "etcd".
func (e *Etcd) Kind() string { return "etcd" }

// Endpoints is one URL.
func (e *Etcd) Endpoints() []string { return []string{e.endpoint} }

// Versions is that of the library.
func (e *Etcd) Versions() map[string]string { return map[string]string{"etcd": version.Version} }

// Nodes is the one process.
func (e *Etcd) Nodes() []store.Node { return []store.Node{e.process} }

// Down is closed when the process ends without Stop.
func (e *Etcd) Down() <-chan struct{} { return e.down }

// Stop ends the process, stopped or not, and removes the data. How the process
// ended does not matter any more, only that it did.
func (e *Etcd) Stop(ctx context.Context) error {
	e.stopping.Store(true)
	err := e.process.Close(ctx)
	select {
	case <-e.process.Done():
	default:
		return fmt.Errorf("stop etcd: %w", err)
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return fmt.Errorf("remove etcd's data: %w", err)
	}
	return nil
}
