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
	cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+filepath.Join(out, "state"), mark)
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

// TestInterruptEarly sends a signal before anything has begun: the exit code is the
// signal's, not the environment's.
func TestInterruptEarly(t *testing.T) {
	t.Parallel()
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted, syscall.SIGTERM: exitTerminated} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := startTool(t, "--fence", "off", "--trials", "40", "--locks", "2")
			c.awaitLine(t, "starting")
			if err := c.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			stderr, _ := io.ReadAll(c.log)
			_ = c.Wait()
			if code := c.ProcessState.ExitCode(); code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, stderr)
			}
			c.awaitNobody(t)
		})
	}
}

// TestPartDies kills a part of the campaign that is not a worker. The tool must not
// hang, must say who died, and must call it the environment's failure.
func TestPartDies(t *testing.T) {
	t.Parallel()
	for role, word := range map[string]string{"store-etcd": "lock store etcd ended by itself", "register": "resource register ended by itself"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			c := startTool(t, "--fence", "all", "--trials", "40", "--locks", "1")
			c.awaitStopped(t)
			if !c.kill(t, role) {
				t.Fatalf("no %s found", role)
			}
			stderr, _ := io.ReadAll(c.log)
			_ = c.Wait()
			// A violation of the control that was seen before is not masked.
			if code := c.ProcessState.ExitCode(); code != exitEnvironment {
				t.Errorf("exit code %d, want %d\n%s", code, exitEnvironment, stderr)
			}
			if !strings.Contains(string(stderr), word) {
				t.Errorf("it does not say %q:\n%s", word, stderr)
			}
			c.awaitNobody(t)
		})
	}
}

// TestWorkerDiesAtStart kills a worker before it is ready: the tool gives up at once,
// and says whose fault it is.
func TestWorkerDiesAtStart(t *testing.T) {
	t.Parallel()
	c := startTool(t, "--fence", "off", "--trials", "40", "--locks", "24", "--workers", "2")
	deadline := time.Now().Add(60 * time.Second)
	for !c.kill(t, "worker") && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	stderr, _ := io.ReadAll(c.log)
	_ = c.Wait()
	if code := c.ProcessState.ExitCode(); code == exitOK || code == exitViolation {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	c.awaitNobody(t)
}

// awaitLine reads the log until a line has the word.
func (c *tool) awaitLine(t *testing.T, word string) {
	t.Helper()
	for {
		line, err := c.log.ReadString('\n')
		if strings.Contains(line, word) {
			return
		}
		if err != nil {
			t.Fatalf("no line with %q: %v", word, err)
		}
	}
}

// TestWorkerDies kills one worker from outside. The run must not hang, and must say
// that it happened.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	c := startTool(t, "--fence", "off", "--trials", "4", "--locks", "1", "--workers", "3", "--expect", "any", "--json")
	c.awaitStopped(t)
	if !c.kill(t, "worker") {
		t.Fatal("no worker found")
	}
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

// kill kills the first child of the role that is not stopped, and tells whether there
// was one.
func (c *tool) kill(t *testing.T, role string) bool {
	t.Helper()
	for _, p := range c.processes() {
		var pid int
		var name, state string
		if _, err := fmt.Sscan(p, &pid, &name, &state); err != nil || state == "T" || pid == c.Process.Pid {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !bytes.Contains(env, []byte("LEASEHOLD_ROLE="+role+"\x00")) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return true
	}
	return false
}
