//go:build linux

package child

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// RoleVar is the environment variable that tells a child its role.
const RoleVar = "LEASEHOLD_ROLE"

// Spec says which child to start.
type Spec struct {
	Role       string   // what the child is to be; Role returns it there
	Name       string   // for messages; if empty, the role
	Log        string   // file to which standard output and error are appended; if empty, they are dropped
	Config     any      // sent as JSON on standard input; nil: nothing is sent
	Executable string   // if empty, the running executable
	Args       []string // arguments after the executable
	Env        []string // added to this process' environment, "KEY=value"
	// Outlives says that the child is not killed when this process dies: it sees the end
	// of its commands, and ends by itself. Only what undoes what a dead parent left
	// behind may ask for it.
	Outlives bool
}

// Starter starts children, all from one thread that lives as long as the process.
//
// The kernel sends the death signal of a child when the *thread* that started it
// ends, not when the process does (prctl(2), PR_SET_PDEATHSIG). A goroutine's
// thread may end at any time: a goroutine that ends while locked to its thread
// takes the thread with it, and with that children which somebody else had
// started from the same thread would die.
type Starter struct {
	requests chan request
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

// NewStarter returns a Starter. It occupies one thread until the process ends; one
// Starter a process is enough.
func NewStarter() *Starter {
	s := &Starter{requests: make(chan request)}
	go s.run()
	return s
}

// run never returns: its end would kill the children.
func (s *Starter) run() {
	runtime.LockOSThread()
	for r := range s.requests {
		r.done <- r.cmd.Start()
	}
}

func (s *Starter) start(ctx context.Context, cmd *exec.Cmd) error {
	r := request{cmd: cmd, done: make(chan error, 1)}
	select {
	case s.requests <- r:
		return <-r.done
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start starts a child. ctx bounds the start, not the child's life.
func (s *Starter) Start(ctx context.Context, spec Spec) (*Process, error) {
	if spec.Name == "" {
		spec.Name = spec.Role
	}
	p, err := s.startProcess(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("start child %s: %w", spec.Name, err)
	}
	return p, nil
}

func (s *Starter) startProcess(ctx context.Context, spec Spec) (*Process, error) {
	cmd, err := command(spec)
	if err != nil {
		return nil, err
	}
	var theirs files
	defer theirs.close()
	if err := theirs.open(spec); err != nil {
		return nil, err
	}
	commandsRead, commands, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirs.add(commandsRead)
	events, eventsWrite, err := os.Pipe()
	if err != nil {
		commands.Close()
		return nil, err
	}
	theirs.add(eventsWrite)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs.stdin, theirs.log, theirs.log
	cmd.ExtraFiles = []*os.File{commandsRead, eventsWrite} // 3 and 4
	if err := s.start(ctx, cmd); err != nil {
		commands.Close()
		events.Close()
		return nil, err
	}
	return newProcess(spec.Name, cmd, commands, events), nil
}

func command(spec Spec) (*exec.Cmd, error) {
	executable := spec.Executable
	if executable == "" {
		own, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find own executable: %w", err)
		}
		executable = own
	}
	cmd := exec.Command(executable, spec.Args...)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, RoleVar+"=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, spec.Env...), RoleVar+"="+spec.Role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !spec.Outlives {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	return cmd, nil
}

// files are the child's ends, which the parent closes after the start.
type files struct {
	stdin, log *os.File
	all        []*os.File
}

func (f *files) add(file *os.File) { f.all = append(f.all, file) }

func (f *files) close() {
	for _, file := range f.all {
		file.Close()
	}
}

// open opens standard input and the log. All are plain files, so that no goroutine
// of ours stands between the child and its streams, and nothing can be held up.
func (f *files) open(spec Spec) error {
	name := spec.Log
	if name == "" {
		name = os.DevNull
	} else if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("create log directory: %w", err)
	}
	log, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	f.log = log
	f.add(log)
	stdin, err := configFile(spec.Config)
	if err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	f.stdin = stdin
	f.add(stdin)
	return nil
}

// configFile is a file without a name that holds the config: unlike a pipe it
// takes any length at once, and ends.
func configFile(config any) (*os.File, error) {
	if config == nil {
		return os.Open(os.DevNull)
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("config", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create memory file: %w", err)
	}
	file := os.NewFile(uintptr(fd), "config")
	if _, err := file.Write(text); err != nil {
		file.Close()
		return nil, err
	}
	if _, err := file.Seek(0, 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
