//go:build linux

package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	sendLimit  = 5 * time.Second // a child that takes no command for so long is stuck
	drainLimit = time.Second     // for events that are still in the pipe after the child's end
)

// ErrEnded is what a call returns when the child had ended.
var ErrEnded = errors.New("process has ended")

// Process is a child. All methods may be called from several goroutines, and none
// waits for a child that has ended.
type Process struct {
	name   string
	cmd    *exec.Cmd
	queue  *queue
	events *os.File
	done   chan struct{}
	err    error // how it ended; readable after done

	sendMu   sync.Mutex
	commands *os.File // nil once closed

	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error // readable after closed
}

func newProcess(name string, cmd *exec.Cmd, commands, events *os.File) *Process {
	p := &Process{
		name: name, cmd: cmd, commands: commands, events: events, queue: newQueue(),
		done: make(chan struct{}), closed: make(chan struct{}),
	}
	drained := make(chan error, 1)
	go func() { drained <- p.queue.fill(events) }()
	go p.wait(drained)
	return p
}

// wait is the only one that waits for the child.
func (p *Process) wait(drained <-chan error) {
	err := p.cmd.Wait()
	// What the child said is in the pipe already. A grandchild that inherited the
	// pipe could keep it open for ever; this is how long anybody waits for it.
	p.events.SetReadDeadline(time.Now().Add(drainLimit))
	bad := <-drained
	p.events.Close()
	p.stopCommands()
	if err == nil {
		err = bad
	}
	if err != nil {
		p.err = fmt.Errorf("child %s (pid %d): %w", p.name, p.PID(), err)
	}
	close(p.done)
}

// Name is the name that the child was started under.
func (p *Process) Name() string { return p.name }

// PID is the process id, for messages and for /proc. It may be used again by
// another process after Done: never signal by it.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Events are what the child emits, in order. Nothing is lost and the child never
// waits, however late anybody reads. The channel is closed after the last event.
func (p *Process) Events() <-chan json.RawMessage { return p.queue.out }

// Done is closed when the child has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells how the child ended: nil while it runs, and if it exited with 0.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Send sends a command. It fails if the child has ended or was asked to stop, or
// takes nothing for five seconds (a stopped child still takes some 64 KiB).
func (p *Process) Send(command any) error {
	text, err := json.Marshal(command)
	if err != nil {
		return fmt.Errorf("send to child %s: %w", p.name, err)
	}
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.commands == nil {
		return fmt.Errorf("send to child %s: %w", p.name, ErrEnded)
	}
	p.commands.SetWriteDeadline(time.Now().Add(sendLimit))
	if _, err := p.commands.Write(append(text, '\n')); err != nil {
		// Half a line may be in the pipe: nothing can follow it.
		p.commands.Close()
		p.commands = nil
		return fmt.Errorf("send to child %s: %w", p.name, err)
	}
	return nil
}

// stopCommands closes the command pipe, by which the child is asked to stop.
func (p *Process) stopCommands() {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.commands != nil {
		p.commands.Close()
		p.commands = nil
	}
}

func (p *Process) signal(what string, sig syscall.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		err = ErrEnded
	}
	if err != nil {
		return fmt.Errorf("%s child %s (pid %d): %w", what, p.name, p.PID(), err)
	}
	return nil
}

// SignalStop sends SIGSTOP. The threads stop one after the other; Stopped tells
// when all have.
func (p *Process) SignalStop(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.signal("stop", syscall.SIGSTOP)
}

// First decodes the first event into v. If none comes that fits, because the child
// ends or ctx does, it closes the child: who does not get ready is of no use.
func (p *Process) First(ctx context.Context, v any) error {
	err := p.first(ctx, v)
	if err == nil {
		return nil
	}
	// The wait is over: there is nothing that the child could still finish.
	now, cancel := context.WithTimeout(context.WithoutCancel(ctx), 0)
	defer cancel()
	return errors.Join(err, p.Close(now))
}

func (p *Process) first(ctx context.Context, v any) error {
	select {
	case event, open := <-p.Events():
		if !open {
			return fmt.Errorf("wait for child %s: %w", p.name, ErrEnded)
		}
		if err := json.Unmarshal(event, v); err != nil {
			return fmt.Errorf("read first event of child %s: %w", p.name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for child %s: %w", p.name, ctx.Err())
	}
}
