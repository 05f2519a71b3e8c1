package container

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/consul/api"
)

// ConsulMinTTL is the session_ttl_min of the server that is brought up here. By default
// it is 10 s; the server ends a session after twice its TTL.
const ConsulMinTTL = time.Second

func consulKind() kind {
	return kind{
		name: "consul", image: "hashicorp/consul:1.14.11", port: 8500, endpoint: web,
		topologies: []topology{oneNode()},
		command:    consulCommand, ready: consulReady,
	}
}

func consulCommand(place) ([]string, map[string]string) {
	return []string{
		"consul", "agent", "-server", "-bootstrap-expect=1", "-data-dir=" + dataDir, "-bind=127.0.0.1", "-client=0.0.0.0",
		"-log-level=warn", "-hcl=disable_update_check = true", "-hcl=performance { raft_multiplier = 1 }",
		fmt.Sprintf("-hcl=session_ttl_min = %q", ConsulMinTTL),
	}, map[string]string{"CONSUL_DISABLE_PERM_MGMT": "1"} // the volume is root's, and so is the server
}

func consulReady(ctx context.Context, p place) (string, error) {
	config := api.DefaultNonPooledConfig()
	config.Address = p.endpoint
	config.HttpClient = &http.Client{Timeout: readyTry} // not all calls take a context
	client, err := api.NewClient(config)
	if err != nil {
		return "", err
	}
	write := new(api.WriteOptions).WithContext(ctx)
	read := new(api.QueryOptions).WithContext(ctx)
	key, value := readyKey(p), "yes"
	if _, err := client.KV().Put(&api.KVPair{Key: key, Value: []byte(value)}, write); err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	got, _, err := client.KV().Get(key, read)
	if err != nil || got == nil || string(got.Value) != value {
		return "", fmt.Errorf("read: %v, %w", got, err)
	}
	if _, err := client.KV().Delete(key, write); err != nil {
		return "", fmt.Errorf("delete: %w", err)
	}
	// A session, too: the server's own health check, which each session depends on, is
	// registered some time after the first keys can be written.
	session, _, err := client.Session().Create(&api.SessionEntry{TTL: "10s"}, write)
	if err != nil {
		return "", fmt.Errorf("open a session: %w", err)
	}
	if _, err := client.Session().Destroy(session, write); err != nil {
		return "", fmt.Errorf("close the session: %w", err)
	}
	self, err := client.Agent().Self()
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	return fmt.Sprint(self["Config"]["Version"]), nil
}
