//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
)

// tool is a leasehold that runs beside the test, and whose children can be found
// by a mark in their environment.
type tool struct {
	*exec.Cmd
	out  string // folder of run directories
	mark string
	log  *bufio.Reader // standard error
}

func startTool(t *testing.T, args ...string) *tool {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	mark := fmt.Sprintf("LEASEHOLD_TEST_MARK=%s-%d", t.Name(), rand.Uint64())
	cmd := exec.Command(own, append([]string{"run", "--out", out}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", mark)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &tool{Cmd: cmd, out: out, mark: mark, log: bufio.NewReader(stderr)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		c.awaitNobody(t)
	})
	return c
}

// processes lists who carries the mark, as "pid state name".
func (c *tool) processes() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte(c.mark)) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			continue
		}
		found = append(found, strings.Join(strings.Fields(string(stat))[:3], " "))
	}
	return found
}

// awaitNobody waits until no process carries the mark.
func (c *tool) awaitNobody(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := c.processes()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("left behind: %q", left)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// awaitStopped waits until a child is stopped.
func (c *tool) awaitStopped(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		for _, p := range c.processes() {
			if strings.HasSuffix(p, " T") {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("nobody was ever stopped")
}

// TestKill9 kills the tool at ten random moments: from before the store is up to
// the middle of the pauses. Nothing may be left: no stopped worker, no etcd.
func TestKill9(t *testing.T) {
	for i := range 10 {
		wait := time.Duration(rand.Int64N(int64(6 * time.Second)))
		t.Run(fmt.Sprintf("%d after %s", i, wait.Round(time.Millisecond)), func(t *testing.T) {
			t.Parallel()
			c := startTool(t, "--fence", "off", "--trials", "4", "--locks", "2", "--quiet")
			time.Sleep(wait) // a random moment is what this is about
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
			c.awaitNobody(t)
		})
	}
}

// TestKill9WhileStopped is the worst moment: a worker is stopped, and only its
// parent would have continued it.
func TestKill9WhileStopped(t *testing.T) {
	t.Parallel()
	c := startTool(t, "--fence", "off", "--trials", "2", "--locks", "1", "--quiet")
	c.awaitStopped(t)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	c.awaitNobody(t)
}

// TestInterrupt sends SIGINT while a worker is stopped: exit 130, nobody left, and a
// history that can be judged.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := startTool(t, "--fence", "off", "--trials", "40", "--locks", "2")
	c.awaitStopped(t)
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	stderr, _ := io.ReadAll(c.log)
	err := c.Wait()
	if code := c.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d (%v), want %d\n%s", code, err, exitInterrupted, stderr)
	}
	c.awaitNobody(t)
	files, _ := filepath.Glob(filepath.Join(c.out, "latest", "*", "history.jsonl"))
	if len(files) != 1 {
		t.Fatalf("histories: %q", files)
	}
	h, err := histories.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Ops) == 0 {
		t.Error("the history is empty")
	}
}

// TestWorkerDies kills one worker from outside. The run must not hang, and must say
// that it happened.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	c := startTool(t, "--fence", "off", "--trials", "4", "--locks", "1", "--workers", "3", "--expect", "any", "--json")
	c.awaitStopped(t)
	killWorker(t, c)
	stderr, _ := io.ReadAll(c.log)
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	c.awaitNobody(t)
	text, err := os.ReadFile(filepath.Join(c.out, "latest", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("had ended by itself")) {
		t.Errorf("the summary does not tell of the worker's end:\n%s", text)
	}
}

// killWorker kills the first worker that is not stopped.
func killWorker(t *testing.T, c *tool) {
	t.Helper()
	for _, p := range c.processes() {
		var pid int
		var name, state string
		if _, err := fmt.Sscan(p, &pid, &name, &state); err != nil || state == "T" || pid == c.Process.Pid {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !bytes.Contains(env, []byte("LEASEHOLD_ROLE=worker\x00")) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no worker found")
}
