//go:build linux

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
)

// poll is how often the state of a child's threads is looked at.
const poll = 200 * time.Microsecond

// Stopped waits until every thread of the child is stopped. SIGSTOP is no instant:
// other threads, those of a keepalive for instance, may run on for milliseconds
// after the first one has stopped.
func (p *Process) Stopped(ctx context.Context) error {
	return p.await(ctx, "stop", func(t threads) bool { return t.running == 0 && t.stopped > 0 })
}

// Continue sends SIGCONT and waits until no thread of the child is stopped.
func (p *Process) Continue(ctx context.Context) error {
	if err := p.signal("continue", syscall.SIGCONT); err != nil {
		return err
	}
	return p.await(ctx, "continue", func(t threads) bool { return t.stopped == 0 })
}

// await polls until cond holds of the child's threads, ctx ends or the child does.
func (p *Process) await(ctx context.Context, what string, cond func(threads) bool) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		t, err := readThreads(p.PID())
		// The number is the child's own for as long as the child was not reaped, and
		// that is what the handle tells. Asked after the reading, it vouches for it.
		if ended := p.signal("see", 0); ended != nil {
			return ended
		}
		if err == nil && cond(t) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("wait for child %s (pid %d) to %s: %w", p.name, p.PID(), what, err)
		}
		select {
		case <-ticker.C:
		case <-p.done:
			return fmt.Errorf("wait for child %s (pid %d) to %s: %w", p.name, p.PID(), what, ErrEnded)
		case <-ctx.Done():
			return fmt.Errorf("wait for child %s (pid %d) to %s: %w (%d threads stopped, %d not)",
				p.name, p.PID(), what, ctx.Err(), t.stopped, t.running)
		}
	}
}

// threads counts the threads of a process. Dead ones count as neither.
type threads struct{ stopped, running int }

// readThreads reads the states of all threads. A thread that is started while the
// list is read may be missed; it can be started only by a thread that runs, and
// then that one is seen running, here or in the second look.
func readThreads(pid int) (threads, error) {
	first, err := lookAtThreads(pid)
	if err != nil || first.running > 0 {
		return first, err
	}
	return lookAtThreads(pid)
}

func lookAtThreads(pid int) (threads, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return threads{}, err
	}
	var t threads
	for _, task := range tasks {
		stat, err := os.ReadFile(dir + "/" + task.Name() + "/stat")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread ended
		}
		if err != nil {
			return threads{}, err
		}
		switch stateOf(stat) {
		case 'T':
			t.stopped++
		case 'Z', 'X', 'x':
		default:
			t.running++
		}
	}
	return t, nil
}

// stateOf is the third field of /proc/PID/stat. The second, the command's name in
// parentheses, may itself hold spaces and parentheses.
func stateOf(stat []byte) byte {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 || end+2 >= len(stat) {
		return '?'
	}
	return stat[end+2]
}
