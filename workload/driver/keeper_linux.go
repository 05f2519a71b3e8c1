package driver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leasehold-checker/leasehold/workload/child"
)

// Role is the role of a keeper (package child).
const Role = "driver-keeper"

const (
	haltLimit = 5 * time.Second // for a group to stop
	endLimit  = 2 * time.Second // for a driver to end by itself, and again after SIGTERM
)

// keeperConfig is what a keeper is told at its start.
type keeperConfig struct {
	Command string `json:"command"`
	Dir     string `json:"dir,omitempty"`
}

// keeperCommand is what a worker tells its keeper.
type keeperCommand struct {
	Do   string `json:"do"` // send, halt, resume or end
	Line string `json:"line,omitempty"`
}

// keeperEvent is what a keeper tells its worker.
type keeperEvent struct {
	What string `json:"what"` // line, halted, ended or bad
	Text string `json:"text,omitempty"`
}

// Keep is the body of a keeper's process.
func Keep(_ context.Context, parent *child.Parent) error {
	// The kernel sends a child's death signal when the thread ends that started it.
	runtime.LockOSThread()
	var c keeperConfig
	if err := parent.Config(&c); err != nil {
		return err
	}
	k := &keeper{parent: parent, gone: make(chan struct{})}
	if err := k.start(c); err != nil {
		return parent.Emit(keeperEvent{What: "ended", Text: err.Error()})
	}
	go k.read()
	go k.watch()
	for raw := range parent.Commands() {
		var c keeperCommand
		if err := json.Unmarshal(raw, &c); err != nil {
			continue
		}
		k.obey(c)
		if c.Do == "end" {
			break
		}
	}
	// Whatever is left of the group goes, whether the worker said so or is dead.
	err := k.group.signal(syscall.SIGKILL)
	_ = k.cmd.Wait()
	return err
}

type keeper struct {
	parent *child.Parent
	cmd    *exec.Cmd
	group  group
	in     *os.File
	out    *os.File
	gone   chan struct{} // closed when the leader has ended; it is not reaped
}

func (k *keeper) start(c keeperConfig) error {
	k.cmd = exec.Command("sh", "-c", c.Command)
	k.cmd.Dir, k.cmd.Stderr = c.Dir, os.Stderr
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Pipes of our own: Wait must not close them before all was read.
	stdin, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start driver: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start driver: %w", err)
	}
	k.cmd.Stdin, k.in, k.cmd.Stdout, k.out = stdin, in, stdout, out
	err = k.cmd.Start()
	stdin.Close()
	stdout.Close()
	if err != nil {
		return fmt.Errorf("start driver: %w", err)
	}
	k.group = group(k.cmd.Process.Pid)
	return nil
}

// read passes the driver's lines on. A line that is too long is the end of it: what
// follows can't be told from it.
func (k *keeper) read() {
	lines := bufio.NewReaderSize(k.out, MaxLine+1)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			k.tell("bad", fmt.Sprintf("a line of more than %d bytes, which begins with %.60q", MaxLine, line))
			_ = k.group.signal(syscall.SIGKILL)
			return
		case err != nil && len(line) == 0:
			return
		case err != nil:
			k.tell("bad", fmt.Sprintf("the last line is not ended by a line feed: %.60q", line))
			return
		}
		k.tell("line", string(line[:len(line)-1]))
	}
}

// watch tells when the leader has ended. It leaves it unreaped, so that its group's number
// stays ours.
func (k *keeper) watch() {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, int(k.group), &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	close(k.gone)
	k.tell("ended", "the driver has ended")
}

func (k *keeper) tell(what, text string) { _ = k.parent.Emit(keeperEvent{What: what, Text: text}) }

func (k *keeper) obey(c keeperCommand) {
	switch c.Do {
	case "send":
		// The limit is for a driver that does not read, after its pipe is full.
		_ = k.in.SetWriteDeadline(time.Now().Add(haltLimit))
		if _, err := k.in.WriteString(c.Line + "\n"); err != nil {
			k.tell("bad", "it takes no more requests: "+err.Error())
		}
	case "halt":
		ctx, cancel := context.WithTimeout(context.Background(), haltLimit)
		defer cancel()
		if err := k.group.stop(ctx); err != nil {
			k.tell("bad", err.Error())
			return
		}
		k.tell("halted", "")
	case "resume":
		if err := k.group.resume(); err != nil {
			k.tell("bad", err.Error())
		}
	case "end":
		k.end()
	}
}

// end closes the driver's standard input, by which it is asked to end, and is less polite
// after a while.
func (k *keeper) end() {
	_ = k.group.resume() // one that is stopped could not end
	_ = k.in.Close()
	if k.wait() {
		return
	}
	fmt.Fprintln(os.Stderr, "driver: it ignores the end of its input")
	_ = k.group.signal(syscall.SIGTERM)
	if !k.wait() {
		fmt.Fprintln(os.Stderr, "driver: it ignores SIGTERM, and is killed")
	}
}

func (k *keeper) wait() bool {
	select {
	case <-k.gone:
		return true
	case <-time.After(endLimit):
		return false
	}
}
