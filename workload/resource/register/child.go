//go:build linux

package register

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Role is the role of the child that serves a register: see ServeChild.
const Role = "register"

// readyEvent is what the child emits once it takes connections.
type readyEvent struct {
	Event    string `json:"event"` // "ready"
	Endpoint string `json:"endpoint"`
}

// Process is a register server in a child process.
type Process struct {
	*child.Process
	endpoint string
}

var _ resource.Server = (*Process)(nil)

// Start starts a server in a child process and returns when it takes connections.
// Its log is register.log in the directory. The executable must hand the role Role
// to ServeChild.
func Start(ctx context.Context, starter *child.Starter, o resource.ServerOptions) (resource.Server, error) {
	log := filepath.Join(o.Dir, "register.log")
	p, err := starter.Start(ctx, child.Spec{Role: Role, Log: log, Config: Config{Fence: o.Fence, Initial: o.Initial}})
	if err != nil {
		return nil, err
	}
	var ready readyEvent
	if err := p.First(ctx, &ready); err != nil {
		return nil, fmt.Errorf("start register: %w (log: %s)", err, log)
	}
	return &Process{Process: p, endpoint: ready.Endpoint}, nil
}

// Endpoint is "host:port", for Dial.
func (p *Process) Endpoint() string { return p.endpoint }

// Versions is empty: the register is a part of leasehold.
func (p *Process) Versions() map[string]string { return nil }

// Stop ends the process.
func (p *Process) Stop(ctx context.Context) error { return p.Close(ctx) }

// ServeChild is the body of the child.
func ServeChild(ctx context.Context, parent *child.Parent) error {
	var config Config
	if err := parent.Config(&config); err != nil {
		return err
	}
	server, err := NewServer(config)
	if err != nil {
		return err
	}
	l, err := Listen()
	if err != nil {
		return err
	}
	if err := parent.Emit(readyEvent{Event: "ready", Endpoint: l.Addr().String()}); err != nil {
		return err
	}
	return server.Serve(ctx, l)
}
