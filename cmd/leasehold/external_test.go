//go:build linux

package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

// TestExternal runs a campaign on stores that are there already, of every kind.
func TestExternal(t *testing.T) {
	t.Parallel()
	for kind, lock := range map[string]string{
		"etcd": "etcd-mutex", "redis": "redis-counter", "zookeeper": "zk-recipe", "postgres": "pg-row", "nats": "nats-kv",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			external(t, lock, containertest.Start(t, kind, ""))
		})
	}
}

func external(t *testing.T, lock string, s store.Store) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "--lock", lock, "--provision", "external", "--fence", "all", "--trials", "4", "--locks", "4", "-q", "--out", t.TempDir()}
	for _, endpoint := range s.Endpoints() {
		args = append(args, "--endpoint", endpoint)
	}
	cmd := exec.Command(own, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
