//go:build linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

// TestWorkedExample runs the tests of a lock in a module of its own, as its author
// would: the lock that is right passes, the one with the mistake fails, and the log tells
// what it did.
func TestWorkedExample(t *testing.T) {
	t.Parallel()
	redis := containertest.Start(t, "redis", "").Endpoints()[0]
	run := func(test string) (string, error) {
		cmd := exec.Command("go", "test", "-count=1", "-v", "-run", "^"+test+"$", "-artifacts", "-outputdir", t.TempDir(), ".")
		cmd.Dir = "../../workload/locktest/testdata/redislock"
		cmd.Env = append(os.Environ(), "REDIS="+redis, "GOFLAGS=-buildvcs=false")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if log, err := run("TestRight"); err != nil || !strings.Contains(log, "the unfenced control violated 24 of 24") {
		t.Errorf("the right lock: %v\n%s", err, log)
	}
	log, err := run("TestCareless")
	if err == nil {
		t.Fatalf("the careless lock passes:\n%s", log)
	}
	for _, want := range []string{" is invalid", "was granted", "A violation where none was expected"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}
