package container

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

func redisKind() kind {
	return kind{
		name: "redis", image: "redis:7.4.1", port: 6379, endpoint: plain,
		topologies: []topology{oneNode(), independent(5), {name: "replica", nodes: 2, peers: true}},
		command:    redisCommand, ready: redisReady,
	}
}

// redisCommand has Redis write each command to its log before it answers, so that a
// killed server comes back with all that it had said.
func redisCommand(p place) ([]string, map[string]string) {
	cmd := []string{
		"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--dir", dataDir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
		"--repl-diskless-sync-delay", "0", // there is but one replica to wait for
	}
	if isReplica(p) {
		cmd = append(cmd, "--replicaof", peer(0), "6379")
	}
	return cmd, nil
}

func isReplica(p place) bool { return p.topology.peers && p.index > 0 }

func redisReady(ctx context.Context, p place) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: p.endpoint, MaxRetries: -1, DisableIdentity: true})
	defer client.Close()
	info, err := client.Info(ctx, "server", "replication").Result()
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	if isReplica(p) {
		if redisInfo(info, "master_link_status") != "up" {
			return "", errors.New("the replica has no link to its primary")
		}
		if err := client.Get(ctx, readyKey(p)).Err(); err != nil && !errors.Is(err, redis.Nil) {
			return "", fmt.Errorf("read: %w", err)
		}
		return redisInfo(info, "redis_version"), nil
	}
	key, value := readyKey(p), "yes"
	if err := client.Set(ctx, key, value, 0).Err(); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	if got, err := client.GetDel(ctx, key).Result(); err != nil || got != value {
		return "", fmt.Errorf("read and delete: %q, %w", got, err)
	}
	return redisInfo(info, "redis_version"), nil
}

// redisInfo is a field of the answer to INFO.
func redisInfo(info, field string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
