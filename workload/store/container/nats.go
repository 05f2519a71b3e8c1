package container

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func natsKind() kind {
	return kind{
		name: "nats", image: "nats:2.11.8", port: 4222,
		endpoint:   func(address string) string { return "nats://" + address },
		topologies: []topology{oneNode()},
		command:    natsCommand, ready: natsReady,
	}
}

func natsCommand(p place) ([]string, map[string]string) {
	if p.own {
		return []string{"nats", "--dir", dataDir, "--listen", "0.0.0.0:4222"}, nil
	}
	// Its entry point is the server.
	return []string{"--addr", "0.0.0.0", "--port", "4222", "--jetstream", "--store_dir", dataDir}, nil
}

func natsReady(ctx context.Context, p place) (string, error) {
	conn, err := nats.Connect(p.endpoint, nats.NoReconnect())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return "", err
	}
	name := readyKey(p)
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}}); err != nil {
		return "", fmt.Errorf("make a stream: %w", err)
	}
	if _, err := js.Publish(ctx, name, []byte("yes")); err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	if err := js.DeleteStream(ctx, name); err != nil {
		return "", fmt.Errorf("delete the stream: %w", err)
	}
	return conn.ConnectedServerVersion(), nil
}
