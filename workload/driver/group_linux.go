package driver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// groupPoll is how often a group is looked at while it stops.
const groupPoll = time.Millisecond

// group is a process group that is ours: its leader was started by us and has not been
// reaped, so that nobody else can have its number.
type group int

func (g group) signal(sig syscall.Signal) error {
	err := syscall.Kill(-int(g), sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// stop stops all processes of the group, and returns when the kernel shows every one of
// their threads as stopped. A process that was forked while the signal was on its way may
// have escaped it, so it is sent again until nobody runs.
func (g group) stop(ctx context.Context) error {
	for {
		if err := g.signal(syscall.SIGSTOP); err != nil {
			return fmt.Errorf("stop driver: %w", err)
		}
		running, err := g.running()
		if err != nil {
			return fmt.Errorf("stop driver: %w", err)
		}
		if running == 0 {
			return nil
		}
		select {
		case <-time.After(groupPoll):
		case <-ctx.Done():
			return fmt.Errorf("stop driver: %d threads still run: %w", running, ctx.Err())
		}
	}
}

func (g group) resume() error {
	if err := g.signal(syscall.SIGCONT); err != nil {
		return fmt.Errorf("continue driver: %w", err)
	}
	return nil
}

// running counts the threads of the group that are not stopped.
func (g group) running() (int, error) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if state, pgrp, ok := stat(fmt.Sprintf("/proc/%d/stat", pid)); !ok || pgrp != int(g) || state == "Z" {
			continue
		}
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			continue // it has just ended
		}
		for _, t := range tasks {
			state, _, ok := stat(fmt.Sprintf("/proc/%d/task/%s/stat", pid, t.Name()))
			if ok && !strings.Contains("TZX", state) {
				n++
			}
		}
	}
	return n, nil
}

// stat reads state and process group. The name before them is in parentheses and may
// hold anything.
func stat(path string) (state string, pgrp int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 3 {
		return "", 0, false
	}
	pgrp, err = strconv.Atoi(fields[2])
	return fields[0], pgrp, err == nil
}
