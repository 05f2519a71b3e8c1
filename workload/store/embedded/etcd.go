package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	portTries  = 5 // free ports are found by asking, and may be taken before they are used
	readyLimit = 30 * time.Second
	retryPause = 100 * time.Millisecond
	closeLimit = time.Second // for a tidy end: nothing of it is ever read again
)

const etcdNode = "etcd-1"

// EtcdConfig is what an etcd server needs. Its JSON form is the config of the child.
// Only a node of a cluster, or one in a container, needs more than Dir.
type EtcdConfig struct {
	Dir  string `json:"dir"`            // for its data; made if it is not there
	Name string `json:"name,omitempty"` // of the node; if empty, "etcd-1"

	ListenClient string `json:"listen_client,omitempty"` // host:port; if empty, a free port of the loopback address
	ListenPeer   string `json:"listen_peer,omitempty"`   // likewise
	Advertise    string `json:"advertise,omitempty"`     // URL for clients; if empty, where it listens
	// InitialCluster lists the nodes of a new cluster and their URLs for one another,
	// this one among them: "etcd-1=http://p1:2380,etcd-2=http://p2:2380"; if empty,
	// the node is alone.
	InitialCluster string `json:"initial_cluster,omitempty"`
	// Joins says that the cluster is there, and expects this node, which has no data yet.
	Joins bool `json:"joins,omitempty"`
}

// ServeEtcd runs an etcd with its default settings, on free ports of the loopback
// address unless config says otherwise, and logs warnings to standard error. It calls
// ready when a value was written and read back through a client, and returns nil when
// ctx ends. A node that is alone and not ready in 30 s is an error; one of a cluster
// waits for its peers.
func ServeEtcd(ctx context.Context, config EtcdConfig, ready func(endpoint string)) error {
	server, err := startEtcd(config)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer closeEtcd(server)
	if err := awaitEtcd(ctx, server, config.InitialCluster == ""); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("wait for etcd: %w", err)
	}
	ready(server.Config().AdvertiseClientUrls[0].String())
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("run etcd: %w", err)
	case <-server.Server.StopNotify():
		return errors.New("run etcd: the server stopped")
	}
}

func startEtcd(config EtcdConfig) (*embed.Etcd, error) {
	for try := 1; ; try++ {
		cfg, err := etcdConfig(config)
		if err != nil {
			return nil, err
		}
		server, err := embed.StartEtcd(cfg)
		if err == nil {
			return server, nil
		}
		if try == portTries || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
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
	if config.ListenClient != "" {
		client.Host = config.ListenClient
	}
	if config.ListenPeer != "" {
		peer.Host = config.ListenPeer
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	if config.Advertise != "" {
		advertise, err := url.Parse(config.Advertise)
		if err != nil {
			return nil, fmt.Errorf("read the URL for clients: %w", err)
		}
		cfg.AdvertiseClientUrls = []url.URL{*advertise}
	}
	if err := setCluster(cfg, config.InitialCluster); err != nil {
		return nil, err
	}
	if config.Joins {
		cfg.ClusterState = embed.ClusterStateFlagExisting
	}
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	cfg.EnableGRPCGateway = false
	cfg.EnablePprof = false
	return cfg, nil
}

// setCluster says who the peers are, and under which URL this node is one of them.
func setCluster(cfg *embed.Config, cluster string) error {
	if cluster == "" {
		cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
		return nil
	}
	peers, err := types.NewURLsMap(cluster)
	if err != nil {
		return fmt.Errorf("read the initial cluster: %w", err)
	}
	own, ok := peers[cfg.Name]
	if !ok {
		return fmt.Errorf("read the initial cluster: %s is not in %q", cfg.Name, cluster)
	}
	cfg.InitialCluster, cfg.AdvertisePeerUrls = cluster, own
	return nil
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

// awaitEtcd waits until the server has a leader, and does what it is for. Only a node
// that is alone can say that it took too long.
func awaitEtcd(ctx context.Context, server *embed.Etcd, alone bool) error {
	if alone {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, readyLimit)
		defer cancel()
	}
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	// Where it really listens, which is not where others may have to look for it.
	endpoint := server.Clients[0].Addr().String()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		err := writeAndRead(ctx, client, server.Config().Name)
		if err == nil || alone {
			return err
		}
		select { // there may be no leader yet, or another one by now
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeAndRead leaves nothing behind in the store. The nodes of a cluster do it at the
// same time, each with a key of its own.
func writeAndRead(ctx context.Context, client *clientv3.Client, node string) error {
	const value = "yes"
	key := "leasehold-ready/" + node
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
