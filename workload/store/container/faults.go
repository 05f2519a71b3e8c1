package container

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/leasehold-checker/leasehold/workload/store"
)

// What can be done to a node depends on the store: see kind.forks and topology.peers.
// Each handle is a value that is equal to another of the same node.
type (
	single     struct{ *node } // a family of processes: to be frozen, not stopped
	signalled  struct{ *node }
	peerOfSome struct{ signalled }
)

var (
	_ store.Freezer = single{}
	_ store.Killer  = single{}
	_ store.Stopper = signalled{}
	_ store.Peer    = peerOfSome{}
)

func (n *node) handle() store.Node {
	switch {
	case n.store.topology.peers:
		return peerOfSome{signalled{n}}
	case n.store.kind.forks:
		return single{n}
	default:
		return signalled{n}
	}
}

const statePause = 20 * time.Millisecond

// Name is "etcd-1".
func (n *node) Name() string { return n.place.name }

// Freeze freezes all processes of the container (docker pause). It has effect when it
// returns. A frozen node stays so.
func (n *node) Freeze(ctx context.Context) error {
	id, err := n.live()
	if err != nil {
		return err
	}
	state, err := n.state(ctx)
	if err != nil || state.Paused {
		return err
	}
	if _, err := n.store.engine.api.ContainerPause(ctx, id, client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("freeze %s: %w", n.Name(), err)
	}
	return nil
}

// Thaw undoes Freeze. A node that is not frozen stays as it is.
func (n *node) Thaw(ctx context.Context) error {
	id, err := n.live()
	if err != nil {
		return err
	}
	state, err := n.state(ctx)
	if err != nil || !state.Paused {
		return err
	}
	if _, err := n.store.engine.api.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{}); err != nil {
		return fmt.Errorf("thaw %s: %w", n.Name(), err)
	}
	return nil
}

// Kill ends the node with SIGKILL, frozen and stopped or not, and returns when it has
// ended. A node that has ended stays so.
func (n *node) Kill(ctx context.Context) error {
	id, err := n.live()
	if err != nil {
		return err
	}
	n.expectEnd()
	api := n.store.engine.api
	_, killed := api.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "KILL"})
	// Where the freezer is that of cgroup v1, the frozen do not even die.
	_, _ = api.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
	ended := api.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-ended.Result:
		return nil
	case err := <-ended.Error:
		return fmt.Errorf("kill %s: %w", n.Name(), errors.Join(killed, err))
	}
}

// Restart brings the node up again, at the same address, and returns when it does what
// it is for; with the data that it had, or, if keep is false, with none. It kills the
// node first if it runs. A node that is cut off from its peers stays so.
func (n *node) Restart(ctx context.Context, keep bool) error {
	if err := n.Kill(ctx); err != nil {
		return err
	}
	if !keep {
		if err := n.renew(ctx); err != nil {
			return fmt.Errorf("restart %s without its data: %w", n.Name(), err)
		}
	}
	if err := n.runAgain(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", n.Name(), err)
	}
	return n.awaitReady(ctx)
}

// runAgain waits for the engine to notice that the port is free again.
func (n *node) runAgain(ctx context.Context) error {
	for try := 1; ; try++ {
		err := n.run(ctx)
		if err == nil || !portTaken(err) || try == startTries {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renew replaces the container and its volume by empty ones.
func (n *node) renew(ctx context.Context) error {
	if replace := n.store.kind.replace; replace != nil && n.store.topology.peers {
		if err := replace(ctx, n.place, n.others()); err != nil {
			return err
		}
		n.place.joins = true
	}
	n.mu.Lock()
	cut := n.cut
	n.mu.Unlock()
	if err := n.removeContainer(ctx); err != nil {
		return err
	}
	if err := n.store.engine.removeVolume(ctx, n.containerName()); err != nil {
		return err
	}
	if err := n.create(ctx); err != nil {
		return err
	}
	if cut {
		return n.disconnect(ctx)
	}
	return nil
}

func (n *node) others() (endpoints []string) {
	for _, o := range n.store.nodes {
		if o != n {
			endpoints = append(endpoints, o.place.endpoint)
		}
	}
	return endpoints
}

// SignalStop sends SIGSTOP to the server. It returns when the signal is sent.
func (s signalled) SignalStop(ctx context.Context) error { return s.signal(ctx, "STOP") }

// Continue sends SIGCONT to the server, and returns when it is seen running. One that
// has ended stays so.
func (s signalled) Continue(ctx context.Context) error {
	state, err := s.state(ctx)
	if err != nil || !state.Running {
		return err
	}
	if err := s.signal(ctx, "CONT"); err != nil {
		return err
	}
	return s.await(ctx, "run on", func(states []string) bool { return !slices.ContainsFunc(states, stopped) })
}

// Stopped returns when every thread of every process of the container is seen stopped,
// on the machine that the engine runs on.
func (s signalled) Stopped(ctx context.Context) error {
	return s.await(ctx, "stop", func(states []string) bool {
		return len(states) > 0 && !slices.ContainsFunc(states, func(state string) bool { return !stopped(state) })
	})
}

// stopped reads a state of ps: "T" is stopped by a signal, "t" by a debugger.
func stopped(state string) bool { return strings.HasPrefix(state, "T") }

func (n *node) signal(ctx context.Context, signal string) error {
	id, err := n.live()
	if err != nil {
		return err
	}
	if _, err := n.store.engine.api.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: signal}); err != nil {
		return fmt.Errorf("send SIG%s to %s: %w", signal, n.Name(), err)
	}
	return nil
}

// await waits until the states of the container's threads are as wanted.
func (n *node) await(ctx context.Context, what string, wanted func(states []string) bool) error {
	id, err := n.live()
	if err != nil {
		return err
	}
	for {
		states, err := n.states(ctx, id)
		if err != nil {
			return fmt.Errorf("wait for %s to %s: %w", n.Name(), what, err)
		}
		if wanted(states) {
			return nil
		}
		select {
		case <-time.After(statePause):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to %s: %w (threads: %v)", n.Name(), what, ctx.Err(), states)
		}
	}
}

func (n *node) states(ctx context.Context, id string) (states []string, err error) {
	top, err := n.store.engine.api.ContainerTop(ctx, id, client.ContainerTopOptions{Arguments: []string{"-eLo", "pid,stat"}})
	if err != nil {
		return nil, err
	}
	for _, row := range top.Processes {
		states = append(states, row[len(row)-1])
	}
	return states, nil
}

// Disconnect takes the node off the network of its peers; its clients still reach it.
// A node that is off it stays so.
func (p peerOfSome) Disconnect(ctx context.Context) error {
	if p.isCut() {
		return nil
	}
	return p.disconnect(ctx)
}

// Connect undoes Disconnect.
func (p peerOfSome) Connect(ctx context.Context) error {
	id, err := p.live()
	if err != nil || !p.isCut() {
		return err
	}
	_, err = p.store.engine.api.NetworkConnect(ctx, p.store.peerNet, client.NetworkConnectOptions{
		Container: id, EndpointConfig: &network.EndpointSettings{Aliases: []string{peer(p.place.index)}},
	})
	if err != nil {
		return fmt.Errorf("connect %s to its peers: %w", p.Name(), err)
	}
	p.setCut(false)
	return nil
}

func (n *node) disconnect(ctx context.Context) error {
	id, err := n.live()
	if err != nil {
		return err
	}
	_, err = n.store.engine.api.NetworkDisconnect(ctx, n.store.peerNet, client.NetworkDisconnectOptions{Container: id, Force: true})
	if err != nil {
		return fmt.Errorf("disconnect %s from its peers: %w", n.Name(), err)
	}
	n.setCut(true)
	return nil
}

func (n *node) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

func (n *node) setCut(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
}
