//go:build linux

package redsync

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// servers are n Redis servers that know nothing of each other, shared by the tests.
func servers(t testing.TB, n int) []string {
	t.Helper()
	return containertest.Start(t, "redis", store.Topology(fmt.Sprint(n))).Endpoints()
}

// fresh is a prefix that no other test uses, nor an earlier run of this one.
func fresh(t testing.TB) string { return fmt.Sprintf("%s/%d/", t.Name(), time.Now().UnixNano()) }
