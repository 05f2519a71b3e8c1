//go:build linux

package child_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/child"
	"golang.org/x/sys/unix"
)

// roles are what this test binary can be started as.
var roles = map[string]child.Body{
	"echo":    echo,
	"flood":   flood,
	"counter": counter,
	"deaf":    deaf,
	"exit":    func(context.Context, *child.Parent) error { return errors.New("gone") },
	"parent":  parent,
	"heir":    heir,
}

func TestMain(m *testing.M) {
	body, isChild := roles[child.Role()]
	if !isChild {
		os.Exit(m.Run())
	}
	if err := child.Serve(body); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(7)
	}
	os.Exit(0)
}

type config struct {
	Word string
	File string
	N    int
}

// echo emits its config, then every command, then "bye".
func echo(_ context.Context, p *child.Parent) error {
	var c config
	if err := p.Config(&c); err != nil {
		return err
	}
	if err := p.Emit(c.Word); err != nil {
		return err
	}
	for command := range p.Commands() {
		if err := p.Emit(command); err != nil {
			return err
		}
	}
	return p.Emit("bye")
}

// flood emits many events and notes in a file that it could.
func flood(_ context.Context, p *child.Parent) error {
	var c config
	if err := p.Config(&c); err != nil {
		return err
	}
	for i := range c.N {
		if err := p.Emit(i); err != nil {
			return err
		}
	}
	return os.WriteFile(c.File, []byte("done"), 0o644)
}

// counter stops itself at each command and writes how far it got to a file before
// and after; another goroutine counts all the time.
func counter(_ context.Context, p *child.Parent) error {
	var c config
	if err := p.Config(&c); err != nil {
		return err
	}
	go func() {
		for i := 0; ; i++ {
			write(c.File+".other", i)
		}
	}()
	if err := p.Emit(os.Getpid()); err != nil {
		return err
	}
	for range p.Commands() {
		write(c.File, 1)
		if err := child.StopSelf(); err != nil {
			return err
		}
		write(c.File, 2)
		if err := p.Emit("continued"); err != nil {
			return err
		}
	}
	return nil
}

func write(file string, n int) { os.WriteFile(file, []byte(strconv.Itoa(n)), 0o644) }

// deaf ignores every wish to stop.
func deaf(_ context.Context, p *child.Parent) error {
	signal.Ignore(syscall.SIGTERM)
	if err := p.Emit("ready"); err != nil {
		return err
	}
	select {}
}

// parent starts a child which stops itself, reports it, and waits.
func parent(ctx context.Context, p *child.Parent) error {
	var c config
	if err := p.Config(&c); err != nil {
		return err
	}
	starter := child.NewStarter()
	for i := range c.N {
		grandchild, err := starter.Start(ctx, child.Spec{Role: "counter", Config: config{File: c.File + strconv.Itoa(i)}})
		if err != nil {
			return err
		}
		<-grandchild.Events()
		if i%2 == 0 {
			if err := grandchild.Send("stop"); err != nil {
				return err
			}
			if err := grandchild.Stopped(ctx); err != nil {
				return err
			}
		}
		if err := p.Emit(grandchild.PID()); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// heir tells what a process that it starts inherits of its own ties to the parent.
func heir(_ context.Context, p *child.Parent) error {
	out, err := exec.Command("sh", "-c", `ls /proc/$$/fd; echo "role=$LEASEHOLD_ROLE"`).Output()
	if err != nil {
		return err
	}
	return p.Emit(strings.Fields(string(out)))
}

func start(t *testing.T, spec child.Spec) *child.Process {
	t.Helper()
	if spec.Log == "" {
		spec.Log = filepath.Join(t.TempDir(), "log", "child.log")
	}
	p, err := child.NewStarter().Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		p.Close(ctx)
		if t.Failed() {
			text, _ := os.ReadFile(spec.Log)
			t.Logf("log of %s: %s", spec.Role, text)
		}
	})
	return p
}

// limit is for what must end: far more than it takes.
func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func next(t *testing.T, p *child.Process) string {
	t.Helper()
	select {
	case event, ok := <-p.Events():
		if !ok {
			t.Fatalf("no event: %v", p.Err())
		}
		return string(event)
	case <-limit(t).Done():
		t.Fatal("no event in time")
	}
	return ""
}

func TestSpeaksBothWays(t *testing.T) {
	t.Parallel()
	p := start(t, child.Spec{Role: "echo", Config: config{Word: "hello"}})
	if got := next(t, p); got != `"hello"` {
		t.Fatalf("config: %s", got)
	}
	for i := range 100 {
		if err := p.Send(i); err != nil {
			t.Fatal(err)
		}
		if got := next(t, p); got != strconv.Itoa(i) {
			t.Fatalf("event %s, want %d", got, i)
		}
	}
	if err := p.Close(limit(t)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, p); got != `"bye"` {
		t.Fatalf("last event %s", got)
	}
	if _, open := <-p.Events(); open {
		t.Fatal("events not closed")
	}
	if err := p.Send(1); !errors.Is(err, child.ErrEnded) {
		t.Fatalf("send after the end: %v", err)
	}
}

func TestConfigIsReadStrictly(t *testing.T) {
	t.Parallel()
	p := start(t, child.Spec{Role: "echo", Config: map[string]any{"Wrod": "hello"}})
	<-p.Done()
	if p.Err() == nil {
		t.Fatal("an unknown key passed")
	}
}

func TestGrandchildrenInheritNothing(t *testing.T) {
	t.Parallel()
	var got []string
	if err := json.Unmarshal([]byte(next(t, start(t, child.Spec{Role: "heir"}))), &got); err != nil {
		t.Fatal(err)
	}
	// Whoever started the test may have left other descriptors open.
	if slices.Contains(got, "3") || slices.Contains(got, "4") || !slices.Contains(got, "role=") {
		t.Fatal(got)
	}
}

func TestLargeConfig(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 1<<20)
	p := start(t, child.Spec{Role: "echo", Config: config{Word: word}})
	if got := next(t, p); len(got) != len(word)+2 {
		t.Fatalf("%d bytes came", len(got))
	}
}

func TestFloodIsDrainedThoughNobodyReads(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "done")
	p := start(t, child.Spec{Role: "flood", Config: config{N: 200_000, File: file}})
	select {
	case <-p.Done():
	case <-limit(t).Done():
		t.Fatal("the child hangs")
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	n := 0
	for event := range p.Events() {
		if string(event) != strconv.Itoa(n) {
			t.Fatalf("event %s, want %d", event, n)
		}
		n++
	}
	if n != 200_000 {
		t.Fatalf("%d events", n)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func awaitFile(t *testing.T, file string) {
	t.Helper()
	for ctx := limit(t); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
	}
	t.Fatalf("%s never came", file)
}

func TestSelfStopIsExactAndComplete(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "count")
	p := start(t, child.Spec{Role: "counter", Config: config{File: file}})
	next(t, p)
	awaitFile(t, file+".other") // the other thread has begun
	for range 5 {
		if err := p.Send("stop"); err != nil {
			t.Fatal(err)
		}
		if err := p.Stopped(limit(t)); err != nil {
			t.Fatal(err)
		}
		states := threadStates(t, p.PID())
		if strings.Trim(states, "T") != "" || len(states) < 2 {
			t.Fatalf("states of the threads: %q", states)
		}
		// The stopping goroutine did not get past the stop, the other one stands, too.
		if got := read(t, file); got != "1" {
			t.Fatalf("counter %s", got)
		}
		before := read(t, file+".other")
		for range 100 {
			threadStates(t, p.PID())
		}
		if after := read(t, file+".other"); after != before {
			t.Fatalf("another thread ran on: %s, then %s", before, after)
		}
		if err := p.Continue(limit(t)); err != nil {
			t.Fatal(err)
		}
		if got := next(t, p); got != `"continued"` {
			t.Fatal(got)
		}
		if got := read(t, file); got != "2" {
			t.Fatalf("counter %s", got)
		}
	}
}

func threadStates(t *testing.T, pid int) string {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var states strings.Builder
	for _, task := range tasks {
		stat := read(t, task)
		states.WriteByte(stat[strings.LastIndexByte(stat, ')')+2])
	}
	return states.String()
}

func TestStopFromOutside(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "count")
	p := start(t, child.Spec{Role: "counter", Config: config{File: file}})
	next(t, p)
	for range 20 {
		if err := p.SignalStop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Stopped(limit(t)); err != nil {
			t.Fatal(err)
		}
		if states := threadStates(t, p.PID()); strings.Trim(states, "T") != "" {
			t.Fatalf("states of the threads: %q", states)
		}
		if err := p.Continue(limit(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStoppedGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	p := start(t, child.Spec{Role: "counter", Config: config{File: filepath.Join(t.TempDir(), "count")}})
	next(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Stopped(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestDeathHangsNobody(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]bool{"while stopped": true, "while running": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, child.Spec{Role: "counter", Config: config{File: filepath.Join(t.TempDir(), "count")}})
			next(t, p)
			if stop {
				if err := p.SignalStop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := p.Stopped(limit(t)); err != nil {
					t.Fatal(err)
				}
			}
			waiting := make(chan error, 1)
			if !stop {
				go func() { waiting <- p.Stopped(limit(t)) }()
			} else {
				waiting <- child.ErrEnded
			}
			kill(t, p.PID())
			<-p.Done()
			if p.Err() == nil || !strings.Contains(p.Err().Error(), "killed") {
				t.Errorf("ended with %v", p.Err())
			}
			for what, err := range map[string]error{
				"waiting": <-waiting, "stop": p.SignalStop(t.Context()), "stopped": p.Stopped(limit(t)),
				"continue": p.Continue(limit(t)), "send": p.Send(1),
			} {
				if !errors.Is(err, child.ErrEnded) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if _, open := <-p.Events(); open {
				t.Error("events not closed")
			}
			if err := p.Close(limit(t)); err == nil {
				t.Error("close tells nothing of the death")
			}
		})
	}
}

// kill kills a child of this test from outside, as a stranger would.
func kill(t *testing.T, pid int) {
	t.Helper()
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	if err := unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
}

func TestExitCodeIsTold(t *testing.T) {
	t.Parallel()
	p := start(t, child.Spec{Role: "exit"})
	err := p.Close(limit(t))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Fatal(err)
	}
}

func TestCloseOfAStoppedChild(t *testing.T) {
	t.Parallel()
	p := start(t, child.Spec{Role: "echo", Config: config{}})
	next(t, p)
	if err := p.SignalStop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Stopped(limit(t)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(limit(t)); err != nil {
		t.Fatalf("not ended by itself: %v", err)
	}
}

func TestCloseOfADeafChild(t *testing.T) {
	t.Parallel()
	p := start(t, child.Spec{Role: "deaf"})
	next(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	first := p.Close(ctx)
	if first == nil || !strings.Contains(first.Error(), "killed") {
		t.Fatal(first)
	}
	if again := p.Close(t.Context()); again != first {
		t.Fatalf("second close: %v", again)
	}
}

// The tool dies by kill -9 while one of its children is stopped and one runs:
// neither outlives it. Two decoys, one running and one stopped, are left alone.
func TestNothingOutlivesAKilledParent(t *testing.T) {
	t.Parallel()
	running, stopped := decoy(t), decoy(t)
	if err := stopped.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p := start(t, child.Spec{Role: "parent", Config: config{N: 4, File: filepath.Join(t.TempDir(), "count")}})
	var handles []int
	for range 4 {
		var pid int
		if err := json.Unmarshal([]byte(next(t, p)), &pid); err != nil {
			t.Fatal(err)
		}
		handle, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(handle)
		handles = append(handles, handle)
	}
	kill(t, p.PID())
	<-p.Done()
	for _, handle := range handles {
		poll := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, 30_000); err != nil || n != 1 {
			t.Fatalf("a grandchild is left: %d, %v", n, err)
		}
	}
	for _, d := range []*os.Process{running, stopped} {
		if err := d.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("decoy: %v", err)
		}
	}
	if states := threadStates(t, stopped.Pid); states != "T" {
		t.Errorf("the stopped decoy is in state %s", states)
	}
}

// decoy is a process that is none of the package's business.
func decoy(t *testing.T) *os.Process {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd.Process
}

func TestStartOfNothing(t *testing.T) {
	t.Parallel()
	_, err := child.NewStarter().Start(t.Context(), child.Spec{Role: "echo", Executable: "/does/not/exist"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
