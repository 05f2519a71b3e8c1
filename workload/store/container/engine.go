package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

const (
	answerLimit = 10 * time.Second // for the engine to say that it is there
	ryukImage   = "testcontainers/ryuk:0.14.0"
)

// ErrUnavailable is in the chain of every error that says that there is no Docker to
// work with. Its text names the alternatives.
var ErrUnavailable = errors.New("no container can be run here; use --provision embedded, --provision external --endpoint, or set DOCKER_HOST to an engine on this machine")

// engine is a Docker engine that answers.
type engine struct {
	api      *client.Client
	provider *testcontainers.DockerProvider
}

// The connection is made once for the process, since testcontainers-go remembers for
// the whole process, too, what it found at its first use. A failure is not remembered.
var shared struct {
	sync.Mutex
	engine *engine
}

func connect(ctx context.Context) (*engine, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.engine != nil {
		return shared.engine, nil
	}
	e, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("reach Docker: %w (%w)", ErrUnavailable, err)
	}
	shared.engine = e
	return e, nil
}

// Available returns nil if containers can be run here, and else an error that says in
// one sentence why not, and what can be done instead: see ErrUnavailable.
func Available(ctx context.Context) error {
	e, err := connect(ctx)
	if err != nil {
		return err
	}
	if err := ping(ctx, e.api); err != nil {
		return fmt.Errorf("reach Docker: %w (%w)", ErrUnavailable, err)
	}
	return nil
}

func dial(ctx context.Context) (*engine, error) {
	host, api, err := findHost(ctx)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx, host, api); err != nil {
		return nil, err
	}
	provider, err := newProvider()
	if err != nil {
		return nil, err
	}
	return &engine{api: api, provider: provider}, nil
}

// findHost picks the engine: the one of DOCKER_HOST and no other if that is set, else
// the first of the usual sockets that answers. It is not left to testcontainers-go,
// which quietly takes the local socket when DOCKER_HOST does not answer.
func findHost(ctx context.Context) (string, *client.Client, error) {
	hosts := []string{client.DefaultDockerHost}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		hosts = append(hosts, "unix://"+filepath.Join(dir, "docker.sock"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		hosts = append(hosts, "unix://"+filepath.Join(home, ".docker/run/docker.sock"))
	}
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		hosts = []string{host}
	}
	var failures []error
	for _, host := range hosts {
		api, err := dialHost(ctx, host)
		if err == nil {
			return host, api, nil
		}
		failures = append(failures, err)
	}
	return "", nil, failures[0]
}

func dialHost(ctx context.Context, host string) (*client.Client, error) {
	if err := local(host); err != nil {
		return nil, err
	}
	api, err := client.New(client.FromEnv, client.WithHost(host))
	if err != nil {
		return nil, err
	}
	if err := ping(ctx, api); err != nil {
		api.Close()
		return nil, err
	}
	return api, nil
}

// local refuses an engine on another machine: the stores are published on its loopback
// address, which is not ours.
func local(host string) error {
	u, err := url.Parse(host)
	if err != nil {
		return err
	}
	if u.Scheme == "unix" || u.Hostname() == "localhost" {
		return nil
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("DOCKER_HOST=%s is another machine, on whose loopback address the stores would be", host)
}

func ping(ctx context.Context, api *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err := api.Info(ctx, client.InfoOptions{})
	return err
}

// settle tells testcontainers-go what was found out, before its first use, by the only
// way that it has: the environment of the process. What the user set stays.
//
//   - The engine is the one that answered.
//   - The host is 127.0.0.1, where we publish. By itself the library takes a file
//     /.dockerenv, which may be there on a plain machine, for the proof that it runs in a
//     container, and then dials the default gateway.
//   - Ryuk, which removes what a killed process has left, is used only if its image is
//     there. Without it that is left to Clean.
func settle(ctx context.Context, host string, api *client.Client) error {
	settings := map[string]string{client.EnvOverrideHost: host, "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1"}
	if _, err := api.ImageInspect(ctx, ryukImage); err != nil {
		settings["TESTCONTAINERS_RYUK_DISABLED"] = "true"
	}
	for name, value := range settings {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	// Its lines are for the users of a test library. Ours get o.Progress.
	tclog.SetDefault(tclog.NewNoopLogger())
	return nil
}

// newProvider turns the panics of testcontainers-go into errors.
func newProvider() (p *testcontainers.DockerProvider, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("testcontainers-go: %v", r)
		}
	}()
	return testcontainers.NewDockerProvider()
}
