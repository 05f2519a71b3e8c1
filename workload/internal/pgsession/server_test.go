package pgsession

import (
	"os"
	"testing"

	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// startPostgres is the endpoint of a real server.
func startPostgres(t testing.TB) string {
	t.Helper()
	return containertest.Start(t, "postgres", "1").Endpoints()[0]
}
