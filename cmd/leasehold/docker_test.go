//go:build linux

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/leasehold-checker/leasehold/workload/store/container"
)

// needsDocker skips a test where no Docker engine answers, or an image is missing.
func needsDocker(t *testing.T, kinds ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	images, err := container.Images(ctx)
	if err != nil {
		t.Skipf("stores in containers: %v", err)
	}
	for _, kind := range kinds {
		if images[kind].ID == "" {
			t.Skipf("no image of %s is here", kind)
		}
	}
}

// TestDockerScripts runs the command against stores in containers.
func TestDockerScripts(t *testing.T) {
	t.Parallel()
	needsDocker(t, "redis", "postgres", "zookeeper", "etcd", "nats")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/docker",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// left lists what carries the label of a campaign.
func left(t *testing.T, campaign string) []string {
	t.Helper()
	var found []string
	for _, kind := range [][]string{{"container", "ls", "-a"}, {"network", "ls"}, {"volume", "ls"}} {
		args := append(kind, "-q", "--filter", "label=leasehold.campaign="+campaign)
		out, err := exec.Command("docker", args...).Output()
		if err != nil {
			t.Fatalf("docker %v: %v", args, err)
		}
		found = append(found, strings.Fields(string(out))...)
	}
	return found
}

// campaignOf is the id of the only run below the tool's folder.
func campaignOf(t *testing.T, c *tool) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(c.out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func startInContainers(t *testing.T) (c *tool, campaign string) {
	t.Helper()
	needsDocker(t, "redis")
	c = startTool(t, "--lock", "redis-counter", "--fence", "off", "--trials", "40", "--locks", "2")
	c.awaitStopped(t)
	campaign = campaignOf(t, c)
	if len(left(t, campaign)) == 0 {
		t.Fatal("a campaign in containers without a container")
	}
	return c, campaign
}

// TestKill9InContainers kills the tool in the middle of a campaign in containers: its
// watchdog removes what it has left.
func TestKill9InContainers(t *testing.T) {
	t.Parallel()
	c, campaign := startInContainers(t)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	c.awaitNobody(t) // the watchdog ends when it is done
	if found := left(t, campaign); len(found) > 0 {
		t.Errorf("left behind: %q", found)
	}
}

// TestClean kills the watchdog as well. leasehold clean then removes what is left of
// that campaign, spares one that is running, and touches nothing of others.
func TestClean(t *testing.T) {
	t.Parallel()
	c, campaign := startInContainers(t)
	out, err := exec.Command("docker", "create", "leasehold/redis:local").Output()
	if err != nil {
		t.Fatalf("create a foreign container: %v", err)
	}
	foreign := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", foreign).Run() })

	// As long as the campaign runs it is left alone.
	c.clean(t)
	if len(left(t, campaign)) == 0 {
		t.Fatal("clean removed what a running campaign uses")
	}
	if !c.kill(t, "watchdog") {
		t.Fatal("no watchdog found")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	c.awaitNobody(t)
	if len(left(t, campaign)) == 0 {
		t.Fatal("nothing is left to clean: who removed it?")
	}
	c.clean(t)
	if found := left(t, campaign); len(found) > 0 {
		t.Errorf("left behind: %q", found)
	}
	if err := exec.Command("docker", "inspect", foreign).Run(); err != nil {
		t.Errorf("the foreign container is gone: %v", err)
	}
}

// clean runs leasehold clean with the tool's own state folder.
func (c *tool) clean(t *testing.T) {
	t.Helper()
	cmd := exec.Command(c.Path, "clean")
	for _, kv := range c.Env { // without the mark: it is not a part of the tool
		if kv != c.mark {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("clean: %v\n%s", err, out)
	}
}
