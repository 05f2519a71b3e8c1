package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	portTries  = 5 // free ports are found by asking, and may be taken before they are used
	readyLimit = 30 * time.Second
	closeLimit = time.Second // for a tidy end: nothing of it is ever read again
)

const etcdNode = "etcd-1"

// EtcdConfig is what an etcd server of one node needs. Its JSON form is the config
// of the child.
type EtcdConfig struct {
	Dir  string `json:"dir"`            // for its data; made if it is not there
	Name string `json:"name,omitempty"` // of the node; if empty, "etcd-1"
}

// ServeEtcd runs an etcd of one node, with its default settings, on free ports of
// the loopback address, and logs warnings to standard error. It calls ready when a
// value was written and read back through a client, and returns nil when ctx ends.
func ServeEtcd(ctx context.Context, config EtcdConfig, ready func(endpoint string)) error {
	server, endpoint, err := startEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer closeEtcd(server)
	if err := awaitEtcd(ctx, server, endpoint); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("wait for etcd: %w", err)
	}
	ready(endpoint)
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("run etcd: %w", err)
	case <-server.Server.StopNotify():
		return errors.New("run etcd: the server stopped")
	}
}

func startEtcd(config EtcdConfig) (*embed.Etcd, string, error) {
	for try := 1; ; try++ {
		cfg, err := etcdConfig(config)
		if err != nil {
			return nil, "", err
		}
		server, err := embed.StartEtcd(cfg)
		if err == nil {
			return server, cfg.AdvertiseClientUrls[0].String(), nil
		}
		if try == portTries || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, "", err
		}
	}
}

func etcdConfig(config EtcdConfig) (*embed.Config, error) {
	client, peer, err := freePorts()
	if err != nil {
		return nil, fmt.Errorf("find free ports: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = config.Dir
	cfg.Name = config.Name
	if cfg.Name == "" {
		cfg.Name = etcdNode
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	cfg.EnableGRPCGateway = false
	cfg.EnablePprof = false
	return cfg, nil
}

// freePorts asks the kernel for two ports at once, so that they differ.
func freePorts() (client, peer url.URL, err error) {
	var urls [2]url.URL
	for i := range urls {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return client, peer, err
		}
		defer l.Close()
		urls[i] = url.URL{Scheme: "http", Host: l.Addr().String()}
	}
	return urls[0], urls[1], nil
}

// awaitEtcd waits until the server has a leader, itself, and does what it is for.
func awaitEtcd(ctx context.Context, server *embed.Etcd, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	return writeAndRead(ctx, client)
}

// writeAndRead leaves nothing behind in the store.
func writeAndRead(ctx context.Context, client *clientv3.Client) error {
	const key, value = "leasehold-ready", "yes"
	if _, err := client.Put(ctx, key, value); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	answer, err := client.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if len(answer.Kvs) != 1 || string(answer.Kvs[0].Value) != value {
		return fmt.Errorf("read: not what was written: %v", answer.Kvs)
	}
	if _, err := client.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// closeEtcd closes the server. It does not wait for clients that keep streams open.
func closeEtcd(server *embed.Etcd) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Close()
	}()
	select {
	case <-done:
	case <-time.After(closeLimit):
	}
}
