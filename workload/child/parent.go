//go:build linux

package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The child's ends of the two pipes.
const (
	commandsFD = 3
	eventsFD   = 4
)

// Role is the role that this process was started in, "" if it is no child.
func Role() string { return os.Getenv(RoleVar) }

// Body is what a child does. ctx ends when the parent wants it to stop: it closed
// the commands, died, or sent SIGTERM.
type Body func(ctx context.Context, parent *Parent) error

// Serve runs body in a process that was started as a child. It takes over file
// descriptors 3 and 4 and the role: processes started by this one inherit none of
// them. Call it once, before anything else is started or opened.
func Serve(body Body) error {
	parent, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go func() {
		parent.fill()
		cancel()
	}()
	return body(ctx, parent)
}

// Parent is the parent, as its child sees it.
type Parent struct {
	stdin    io.Reader
	commands *os.File
	queue    *queue

	emitMu sync.Mutex
	events *os.File
}

func connect() (*Parent, error) {
	if err := os.Unsetenv(RoleVar); err != nil {
		return nil, fmt.Errorf("forget role: %w", err)
	}
	for _, fd := range []int{commandsFD, eventsFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, fmt.Errorf("connect to parent: file descriptor %d: %w", fd, err)
		}
	}
	// Non-blocking, so that a wait for commands takes up no thread.
	if err := unix.SetNonblock(commandsFD, true); err != nil {
		return nil, fmt.Errorf("connect to parent: %w", err)
	}
	return &Parent{
		stdin:    os.Stdin,
		commands: os.NewFile(commandsFD, "commands"),
		events:   os.NewFile(eventsFD, "events"),
		queue:    newQueue(),
	}, nil
}

func (p *Parent) fill() {
	if err := p.queue.fill(p.commands); err != nil {
		fmt.Fprintln(os.Stderr, "commands from parent:", err)
	}
}

// Config decodes the config that the parent sent into v. Unknown keys and anything
// after the config are errors. It can be called once.
func (p *Parent) Config(v any) error {
	decoder := json.NewDecoder(p.stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return fmt.Errorf("read config: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read config: more than one value")
	}
	return nil
}

// Commands are what the parent sends, in order. The channel is closed when the
// parent wants this process to stop, after the last command.
func (p *Parent) Commands() <-chan json.RawMessage { return p.queue.out }

// Emit sends an event. It may be called from several goroutines.
func (p *Parent) Emit(event any) error {
	text, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("emit event: %w", err)
	}
	p.emitMu.Lock()
	defer p.emitMu.Unlock()
	if _, err := p.events.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("emit event: %w", err)
	}
	return nil
}

// StopSelf stops this process and returns when it was continued. The signal goes
// to the calling thread, which takes it on its way out of the system call: not one
// instruction of the caller runs in between. The other threads stop when the
// kernel gets to them, within milliseconds.
func StopSelf() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP); err != nil {
		return fmt.Errorf("stop self: %w", err)
	}
	return nil
}
