package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Entry is something that the tool has done to the machine and that would outlive
// it: containers that it created, a container that it froze. It stands in a ledger
// before it is done, and is struck out after it was undone.
type Entry struct {
	ID     int    `json:"id"`
	Kind   string `json:"kind"`   // names the undo
	Target string `json:"target"` // what to undo it on
}

// line is one line of a ledger: an entry, or that one was undone.
type line struct {
	*Entry
	Undone int `json:"undone,omitempty"`
}

// Ledger is the file in which entries stand: written and synced before each of
// them takes effect. It may be used from several goroutines.
type Ledger struct {
	path  string
	index string // the file under the user's state folder that points at the ledger

	mu   sync.Mutex
	file *os.File
	last int
	open map[int]bool
}

// CreateLedger creates a ledger and enters it in the index folder, where Ledgers
// finds it when the tool that wrote it is gone.
func CreateLedger(path, index string) (*Ledger, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	l := &Ledger{path: path, file: file, open: map[int]bool{}}
	// The lock tells that the tool is alive: the kernel drops it when it dies.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = l.enter(index)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("enter ledger in index: %w", err), file.Close(), os.Remove(path))
	}
	return l, nil
}

func (l *Ledger) enter(index string) error {
	absolute, err := filepath.Abs(l.path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(index, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(index, "ledger-*")
	if err != nil {
		return err
	}
	l.index = f.Name()
	if _, err := f.WriteString(absolute); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}

// Begin enters something that is about to be done.
func (l *Ledger) Begin(kind, target string) (id int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	if err := l.write(line{Entry: &Entry{ID: l.last, Kind: kind, Target: target}}); err != nil {
		return 0, err
	}
	l.open[l.last] = true
	return l.last, nil
}

// Undone strikes an entry out.
func (l *Ledger) Undone(id int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(line{Undone: id}); err != nil {
		return err
	}
	delete(l.open, id)
	return nil
}

func (l *Ledger) write(v line) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// Close closes the ledger, and takes it out of the index if nothing in it is open.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.file.Close()
	if len(l.open) == 0 {
		err = errors.Join(err, os.Remove(l.index))
	}
	return err
}

// ErrInUse is what a replay returns for the ledger of a tool that is still alive.
var ErrInUse = errors.New("in use by a running campaign")

// Open lists the entries of a ledger that were not undone, the last one first: the
// order in which to undo them. A torn last line is an entry that never took effect.
func Open(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	entries := map[int]Entry{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v line
		if json.Unmarshal(lines.Bytes(), &v) != nil {
			continue
		}
		if v.Entry != nil {
			entries[v.ID] = *v.Entry
		} else {
			delete(entries, v.Undone)
		}
	}
	var open []Entry
	for _, e := range entries {
		open = append(open, e)
	}
	slices.SortFunc(open, func(a, b Entry) int { return b.ID - a.ID })
	return open, nil
}

// Undos say how to undo each kind of entry. Undoing what is undone already is no error.
type Undos map[string]func(ctx context.Context, target string) error

// Replay undoes what is open in a ledger. It goes on after a failure. A ledger whose
// tool is alive is left alone: ErrInUse.
func Replay(ctx context.Context, path string, undos Undos) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("replay ledger: %w", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("replay ledger %s: %w", path, ErrInUse)
	}
	entries, err := Open(path)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		undo, ok := undos[e.Kind]
		if !ok {
			errs = append(errs, fmt.Errorf("replay ledger %s: unknown kind %q", path, e.Kind))
			continue
		}
		if err := undo(ctx, e.Target); err != nil {
			errs = append(errs, fmt.Errorf("undo %s %s: %w", e.Kind, e.Target, err))
		}
	}
	return errors.Join(errs...)
}

// ReplayAll replays every ledger of the index, and takes those out of it that leave
// nothing open or are not there any more. It returns the ledgers that it replayed;
// those of tools that are alive are left alone.
func ReplayAll(ctx context.Context, index string, undos Undos) ([]string, error) {
	pointers, err := filepath.Glob(filepath.Join(index, "ledger-*"))
	if err != nil {
		return nil, fmt.Errorf("list ledgers: %w", err)
	}
	var replayed []string
	var errs []error
	for _, pointer := range pointers {
		path, err := os.ReadFile(pointer)
		if err != nil {
			errs = append(errs, fmt.Errorf("read index: %w", err))
			continue
		}
		err = Replay(ctx, string(path), undos)
		if errors.Is(err, ErrInUse) {
			continue
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		if err == nil {
			replayed = append(replayed, string(path))
		}
		if err := os.Remove(pointer); err != nil {
			errs = append(errs, fmt.Errorf("remove from index: %w", err))
		}
	}
	return replayed, errors.Join(errs...)
}

// StateDir is the folder of the index: $XDG_STATE_HOME/leasehold, by default
// ~/.local/state/leasehold.
func StateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "leasehold"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "leasehold"), nil
}
