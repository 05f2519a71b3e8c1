package campaign

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold-checker/leasehold/checker/report"
)

// RunDir is the folder of one run.
type RunDir struct {
	Path string
}

// folderEvents holds what each process writes down, as it happens; it is removed
// once that was merged into one history.
const folderEvents = "events"

// newRunDir creates out/<utc time>-<name>-<random>, and fails if it exists.
func newRunDir(out, name string, now time.Time) (*RunDir, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("create folder of runs: %w", err)
	}
	var salt [3]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return nil, fmt.Errorf("draw run name: %w", err)
	}
	path := filepath.Join(out, fmt.Sprintf("%s-%s-%s", now.UTC().Format("20060102T150405Z"), folder(name), hex.EncodeToString(salt[:])))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find run directory: %w", err)
	}
	return &RunDir{absolute}, nil
}

// linkAsLatest points out/latest at the run, by a rename, so that the link is never absent.
func (d *RunDir) linkAsLatest() error {
	out, name := filepath.Split(d.Path)
	temp := filepath.Join(out, "."+name+".link")
	if err := os.Symlink(name, temp); err != nil {
		return fmt.Errorf("link latest run: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(out, report.LinkLatest)); err != nil {
		return errors.Join(fmt.Errorf("link latest run: %w", err), os.Remove(temp))
	}
	return nil
}

// cell creates the folder of a cell; "/" in its name becomes "_".
func (d *RunDir) cell(name string) (string, error) {
	path := filepath.Join(d.Path, folder(name))
	if err := os.MkdirAll(filepath.Join(path, folderEvents), 0o755); err != nil {
		return "", fmt.Errorf("create cell folder: %w", err)
	}
	return path, nil
}

func folder(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '@':
			return r
		}
		return '_'
	}, name)
}

// writeJSON writes v as indented JSON, durably: temporary file, fsync, rename.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return writeFile(path, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
}

// writeFile writes a file durably: whoever finds it finds all of it.
func writeFile(path string, fill func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", filepath.Base(path), errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return os.Rename(f.Name(), path)
}
