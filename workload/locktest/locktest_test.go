//go:build linux

package locktest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	locks "github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/locktest"
)

type lock = locks.Lock

func TestMain(m *testing.M) {
	locktest.Main(m, locktest.Locks{"right": connect(true), "bare": connect(false)})
}

// inner names the environment variable under which the tests that must fail are run,
// each in a process of its own.
const inner = "LOCKTEST_INNER"

// inside tells whether this is the process in which the test is to fail: it then runs
// the lock, and nothing else.
func inside() bool { return os.Getenv(inner) != "" }

// again runs the present test in a process of its own, and returns how it ended.
func again(t *testing.T, args ...string) (log string, passed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^" + t.Name() + "$", "-test.v"}, args...)...)
	cmd.Env = append(os.Environ(), inner+"=1", "TMPDIR="+t.TempDir())
	text, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return string(text), err == nil
}

// TestFencedLock: with tokens, a lock passes, and its control has shown that the test
// could have failed.
func TestFencedLock(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Config{Lock: "right", Endpoints: []string{serve(t, 0)}, Tokens: true, TTL: time.Second, Trials: 12})
}

// TestExpectedViolation: who knows that nothing fences his lock still has the rest tested.
func TestExpectedViolation(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Config{Lock: "bare", Endpoints: []string{serve(t, 0)}, Expect: locktest.Violation, TTL: time.Second, Trials: 12})
}

// TestBareLockFails: without tokens a paused holder does harm, and the log says how,
// where the picture is, how to see it again, and how long it took.
func TestBareLockFails(t *testing.T) {
	if inside() {
		locktest.Run(t, locktest.Config{Lock: "bare", Endpoints: []string{serve(t, 0)}, Trials: 12})
		return
	}
	t.Parallel()
	log, passed := again(t)
	if passed {
		t.Fatalf("passed:\n%s", log)
	}
	for _, want := range []string{"was stopped at", "went on at", "A violation where none was expected",
		"LEASEHOLD_SEED=", "go test -run '^TestBareLockFails$'", "A stale write was proven"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	took := regexp.MustCompile(`proven ([0-9.]+ s) after`).FindStringSubmatch(log)
	t.Logf("a lease of 2 s, stale write proven after %v", took)
	page := regexp.MustCompile(`report: (\S+report\.html)`).FindStringSubmatch(log)
	if page == nil {
		t.Fatalf("no page in the log:\n%s", log)
	}
	for _, file := range []string{page[1], filepath.Join(filepath.Dir(page[1]), "bare_register_check_off_pause-checked", "timeline.html")} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

// TestEarlyStoreFails: a fence does not excuse a store that breaks its promise.
func TestEarlyStoreFails(t *testing.T) {
	if inside() {
		locktest.Run(t, locktest.Config{Lock: "right", Endpoints: []string{serve(t, 300*time.Millisecond)}, Tokens: true, TTL: time.Second, Trials: 12})
		return
	}
	t.Parallel()
	log, passed := again(t, "-test.artifacts", "-test.outputdir="+t.TempDir())
	if passed || !strings.Contains(log, "exclusion is invalid") {
		t.Errorf("passed: %t\n%s", passed, log)
	}
	if !regexp.MustCompile(`report: \S+_artifacts\S+report\.html`).MatchString(log) {
		t.Errorf("the page is not among the artifacts:\n%s", log)
	}
}

// TestMistakes: what is wrong is said in a sentence, and no worker is started for it.
func TestMistakes(t *testing.T) {
	if inside() {
		locktest.Run(t, locktest.Config{Lock: "right", Endpoints: []string{"127.0.0.1:1"}})
		return
	}
	t.Parallel()
	log, passed := again(t)
	if passed || !strings.Contains(log, "did not come up") || !strings.Contains(log, "connection refused") {
		t.Errorf("passed: %t\n%s", passed, log)
	}
}

// TestNothingOutlivesTheTest: the test binary is killed in the middle; its workers
// die with it, the stopped ones as well.
func TestNothingOutlivesTheTest(t *testing.T) {
	if inside() {
		locktest.Run(t, locktest.Config{Lock: "bare", Endpoints: []string{serve(t, 0)}, Trials: 12})
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inner+"=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf, seen := make([]byte, 4096), ""
	for !strings.Contains(seen, "running") {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%v after %s", err, seen)
		}
		seen += string(buf[:n])
	}
	var children []string
	for deadline := time.Now().Add(20 * time.Second); len(children) < 10 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		children = childrenOf(t, cmd.Process.Pid)
	}
	if len(children) < 10 {
		t.Fatalf("only %d children", len(children))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, pid := range children {
			if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d children are still there", left, len(children))
		}
	}
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) []string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		list = append(list, strings.Fields(string(text))...)
	}
	return list
}
