package container

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// ZooKeeperTick is the tickTime of the servers that are brought up here. Sessions end
// late by up to one tick, and can be as short as two: with the usual tick of 2 s no
// lease could be shorter than 4 s.
const ZooKeeperTick = 500 * time.Millisecond

// ZooKeeperMaxSession is the longest session timeout that the servers grant.
const ZooKeeperMaxSession = time.Minute

func zookeeperKind() kind {
	return kind{
		name: "zookeeper", image: "zookeeper:3.9.3", port: 2181, endpoint: plain,
		topologies: []topology{oneNode(), clustered(3)},
		command:    zookeeperCommand, ready: zookeeperReady,
	}
}

func zookeeperCommand(p place) ([]string, map[string]string) {
	config := []string{
		fmt.Sprintf("tickTime=%d", ZooKeeperTick.Milliseconds()),
		fmt.Sprintf("maxSessionTimeout=%d", ZooKeeperMaxSession.Milliseconds()),
		"initLimit=40", "syncLimit=10", // in ticks
		"dataDir=" + dataDir, "clientPort=2181", "maxClientCnxns=0", "preAllocSize=1024",
		"admin.enableServer=false", "4lw.commands.whitelist=srvr",
	}
	if p.topology.peers {
		config = append(config, "quorumListenOnAllIPs=true")
		for i := range p.topology.nodes {
			config = append(config, fmt.Sprintf("server.%d=%s:2888:3888", i+1, peer(i)))
		}
	}
	script := fmt.Sprintf("echo %d > %s/myid && printf '%%s\\n' %s > %s/zoo.cfg && exec zkServer.sh start-foreground %s/zoo.cfg",
		p.index+1, dataDir, strings.Join(config, " "), dataDir, dataDir)
	return []string{"sh", "-c", script}, map[string]string{"JVMFLAGS": "-Xmx256m", "JMXDISABLE": "true"}
}

func zookeeperReady(ctx context.Context, p place) (string, error) {
	version, err := zookeeperVersion(ctx, p.endpoint)
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	conn, _, err := zk.Connect([]string{p.endpoint}, 10*time.Second, zk.WithLogger(silence{}), zk.WithDialer(
		func(network, address string, _ time.Duration) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}))
	if err != nil {
		return "", err
	}
	// It knows no context: the close ends what waits.
	defer context.AfterFunc(ctx, conn.Close)()
	defer conn.Close()
	path := "/" + readyKey(p)
	if _, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		return "", fmt.Errorf("create a node: %w", err)
	}
	if err := conn.Delete(path, -1); err != nil {
		return "", fmt.Errorf("delete the node: %w", err)
	}
	return version, nil
}

// zookeeperVersion asks with the four-letter word srvr, which a server that has no
// quorum refuses.
func zookeeperVersion(ctx context.Context, address string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return "", err
	}
	answer := make([]byte, 4096)
	n, err := conn.Read(answer)
	if err != nil {
		return "", err
	}
	_, rest, found := strings.Cut(string(answer[:n]), "Zookeeper version: ")
	if !found {
		return "", fmt.Errorf("it says %q", answer[:n])
	}
	return strings.FieldsFunc(rest, func(r rune) bool { return r == '-' || r == ',' || r == ' ' })[0], nil
}

type silence struct{}

func (silence) Printf(string, ...any) {}
