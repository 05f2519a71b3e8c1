package container

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

func etcdKind() kind {
	return kind{
		name: "etcd", image: "quay.io/coreos/etcd:v3.6.5", port: 2379, endpoint: web,
		topologies: []topology{oneNode(), clustered(3)},
		command:    etcdCommand, ready: etcdReady, replace: etcdReplace,
	}
}

func etcdCommand(p place) ([]string, map[string]string) {
	const clients, peers = "0.0.0.0:2379", "0.0.0.0:2380"
	members := []string{p.name + "=" + etcdPeer(p)}
	if p.topology.peers {
		members = nil
		for i := range p.topology.nodes {
			members = append(members, fmt.Sprintf("etcd-%d=http://%s:2380", i+1, peer(i)))
		}
	}
	all := strings.Join(members, ",")
	if p.own {
		return []string{
			"etcd", "--dir", dataDir + "/etcd", "--name", p.name, "--listen-client", clients, "--listen-peer", peers,
			"--advertise", p.endpoint, "--initial-cluster", all, "--join=" + strconv.FormatBool(p.joins),
		}, nil
	}
	state := "new"
	if p.joins {
		state = "existing"
	}
	return []string{
		"etcd", "--data-dir", dataDir + "/etcd", "--name", p.name,
		"--listen-client-urls", web(clients), "--advertise-client-urls", p.endpoint,
		"--listen-peer-urls", web(peers), "--initial-advertise-peer-urls", etcdPeer(p),
		"--initial-cluster", all, "--initial-cluster-state", state, "--logger", "zap", "--log-level", "warn",
	}, nil
}

// etcdPeer is the URL of a node for its peers. One that is alone has no network on which
// it would have a name.
func etcdPeer(p place) string {
	if !p.topology.peers {
		return "http://127.0.0.1:2380"
	}
	return web(peer(p.index) + ":2380")
}

// etcdReplace has the others forget the node and expect a new one in its place: one that
// came back as the same member without its log would have broken its promises to them,
// and etcd refuses to go on.
func etcdReplace(ctx context.Context, p place, others []string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: others, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	list, err := client.MemberList(ctx)
	if err != nil {
		return fmt.Errorf("list the members: %w", err)
	}
	for _, m := range list.Members {
		if !slices.Contains(m.PeerURLs, etcdPeer(p)) {
			continue
		}
		if _, err := client.MemberRemove(ctx, m.ID); err != nil {
			return fmt.Errorf("remove the member: %w", err)
		}
	}
	if _, err := client.MemberAdd(ctx, []string{etcdPeer(p)}); err != nil {
		return fmt.Errorf("add the member anew: %w", err)
	}
	return nil
}

func etcdReady(ctx context.Context, p place) (string, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{p.endpoint}, Logger: zap.NewNop(), Context: ctx})
	if err != nil {
		return "", err
	}
	defer client.Close()
	key, value := readyKey(p), "yes"
	if _, err := client.Put(ctx, key, value); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	got, err := client.Get(ctx, key)
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != value {
		return "", fmt.Errorf("read: not what was written: %v", got.Kvs)
	}
	if _, err := client.Delete(ctx, key); err != nil {
		return "", fmt.Errorf("delete: %w", err)
	}
	status, err := client.Status(ctx, p.endpoint)
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	return status.Version, nil
}

// readyKey is of this node alone, since the checks of all nodes run at the same time.
func readyKey(p place) string { return "leasehold-ready-" + p.name }
