package container

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	startTries = 5 // a port that was free may be taken before it is used
	makeLimit  = time.Minute
	readyLimit = 90 * time.Second
	readyTry   = 5 * time.Second
	readyPause = 100 * time.Millisecond
	dataDir    = "/data" // of every store, in its container
)

// node is one container, and what is needed to make it again.
type node struct {
	store   *started
	place   place
	port    int // on this machine; fixed from the first start on
	version string

	mu      sync.Mutex
	id      string // of the container; "" while there is none
	cut     bool   // off from its peers
	removed bool
	logs    *follower // of the last start
}

func newNode(s *started, p place) *node { return &node{store: s, place: p} }

func (n *node) containerName() string { return n.store.prefix + "-" + n.place.name }

func (n *node) logFile() string { return filepath.Join(n.store.options.Dir, n.place.name+".log") }

// bringUp starts the node for the first time.
func (n *node) bringUp(ctx context.Context) error {
	for try := 1; ; try++ {
		err := n.newPort()
		if err == nil {
			err = n.create(ctx)
		}
		if err == nil {
			err = n.run(ctx)
		}
		if err == nil {
			break
		}
		if try == startTries || !portTaken(err) {
			return fmt.Errorf("%s: %w", n.place.name, err)
		}
		if err := n.removeContainer(ctx); err != nil {
			return err
		}
	}
	return n.awaitReady(ctx)
}

func (n *node) newPort() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	n.port = port
	n.place.endpoint = n.store.kind.endpoint(fmt.Sprintf("127.0.0.1:%d", port))
	n.place.own = n.store.image.Own
	return nil
}

func portTaken(err error) bool {
	text := err.Error()
	return strings.Contains(text, "port is already allocated") || strings.Contains(text, "address already in use")
}

// create makes the container and its volume, and starts nothing.
func (n *node) create(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := unbroken(ctx)
	defer cancel()
	s := n.store
	_, err := s.engine.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: n.containerName(), Labels: s.labels()})
	if err != nil {
		return fmt.Errorf("make a volume: %w", err)
	}
	made, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: n.request(), ProviderType: testcontainers.ProviderDocker,
	})
	if made != nil {
		n.mu.Lock()
		n.id = made.GetContainerID()
		n.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("make a container: %w", err)
	}
	return nil
}

// unbroken is a context for a request that makes something. The engine goes on with it
// when the caller has given up, and what it made would come to light after the removal
// of all that was made: so nobody gives up before makeLimit.
func unbroken(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), makeLimit)
}

func (n *node) request() testcontainers.ContainerRequest {
	s := n.store
	cmd, env := s.kind.command(n.place)
	inside := network.MustParsePort(fmt.Sprintf("%d/tcp", s.kind.port))
	request := testcontainers.ContainerRequest{
		Image: s.image.Ref, Name: n.containerName(), Cmd: cmd, Env: env, Labels: s.labels(),
		ExposedPorts: []string{inside.String()},
		HostConfigModifier: func(h *container.HostConfig) {
			h.PortBindings = network.PortMap{inside: {{HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: strconv.Itoa(n.port)}}}
			h.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: n.containerName(), Target: dataDir}}
		},
	}
	if s.topology.peers {
		request.Networks = append([]string(nil), s.networks...)
		request.NetworkAliases = map[string][]string{s.peerNet: {peer(n.place.index)}}
	}
	return request
}

// run starts the container, and follows its log and its life.
func (n *node) run(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := unbroken(ctx)
	defer cancel()
	api := n.store.engine.api
	n.mu.Lock()
	id := n.id
	n.mu.Unlock()
	if _, err := api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start the container: %w", err)
	}
	state, err := n.state(ctx)
	if err != nil {
		return err
	}
	logs, err := follow(api, id, state.StartedAt, n.logFile())
	if err != nil {
		return err
	}
	n.mu.Lock()
	old := n.logs
	n.logs = logs
	n.mu.Unlock()
	if old != nil {
		old.close()
	}
	go n.watch(id, logs)
	return nil
}

// watch tells the store when the container ends unasked. It lives as long as the log
// is followed.
func (n *node) watch(id string, logs *follower) {
	ended := n.store.engine.api.ContainerWait(logs.ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-ended.Result:
	case <-ended.Error:
		return // the engine is gone, or the node is being removed
	}
	if !logs.asked.Load() {
		n.store.fell()
	}
}

// expectEnd says that the server was told to end, if it runs.
func (n *node) expectEnd() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.logs != nil {
		n.logs.asked.Store(true)
	}
}

func (n *node) state(ctx context.Context) (*container.State, error) {
	found, err := n.store.engine.api.ContainerInspect(ctx, n.container(), client.ContainerInspectOptions{})
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", n.place.name, err)
	}
	return found.Container.State, nil
}

func (n *node) container() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.id
}

// awaitReady returns when the node has done what it is for.
func (n *node) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		version, err := n.tryReady(ctx)
		if err == nil {
			n.version = version
			return nil
		}
		state, bad := n.state(ctx)
		if bad == nil && !state.Running {
			return fmt.Errorf("%s ended with code %d before it was ready (log: %s)%s", n.place.name, state.ExitCode, n.logFile(), n.said(true))
		}
		select {
		case <-time.After(readyPause):
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w (log: %s)%s", n.place.name, ctx.Err(), err, n.logFile(), n.said(false))
		}
	}
}

func (n *node) tryReady(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTry)
	defer cancel()
	return n.store.kind.ready(ctx, n.place)
}

// said is the end of the log, for an error; all of it, if the server has ended.
func (n *node) said(ended bool) string {
	n.mu.Lock()
	logs := n.logs
	n.mu.Unlock()
	if logs == nil {
		return ""
	}
	if ended {
		logs.close()
	}
	return logs.tail()
}

// remove removes the node, whatever state it is in, and its data.
func (n *node) remove(ctx context.Context) error {
	n.expectEnd()
	err := n.removeContainer(ctx)
	if err == nil {
		err = n.store.engine.removeVolume(ctx, n.containerName())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		n.removed = true
	}
	if n.logs != nil {
		n.logs.close()
	}
	return err
}

func (n *node) removeContainer(ctx context.Context) error {
	// By name: a call that failed may have made one whose id was never told.
	err := n.store.engine.removeContainer(ctx, n.containerName())
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.id = ""
	return nil
}

var errRemoved = errors.New("the node was removed")

// live is the container's id, for what is to be done to it.
func (n *node) live() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.removed || n.id == "" {
		return "", fmt.Errorf("%s: %w", n.place.name, errRemoved)
	}
	return n.id, nil
}
