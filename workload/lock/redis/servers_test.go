//go:build linux

package redis

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// servers is one Redis server, shared by the tests.
func servers(t testing.TB) []string {
	t.Helper()
	return containertest.Start(t, "redis", "1").Endpoints()
}

// fresh is a prefix that no other test uses, nor an earlier run of this one.
func fresh(t testing.TB) string { return fmt.Sprintf("%s/%d/", t.Name(), time.Now().UnixNano()) }
