package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// outcome of a mutant.
type outcome string

const (
	killed   outcome = "killed"
	survived outcome = "SURVIVED"
	broken   outcome = "BROKEN" // it could not be made, or does not compile
)

func (m *mutant) String() string {
	line := fmt.Sprintf("%-8s %5.1fs  %s: %s", m.outcome, m.seconds, m.file, m.what)
	if m.said != "" {
		line += "\n         " + strings.ReplaceAll(strings.TrimSpace(m.said), "\n", "\n         ")
	}
	if m.argued != "" {
		line += "\n         argued: " + m.argued
	}
	return line
}

// test makes the change in a copy of the tree, runs the tests, and takes it back.
func (m *mutant) test(ctx context.Context, tree string, limit time.Duration, dry bool) {
	start := time.Now()
	defer func() { m.seconds = time.Since(start).Seconds() }()
	name := filepath.Join(tree, m.file)
	before, err := os.ReadFile(name)
	if err != nil {
		m.outcome, m.said = broken, err.Error()
		return
	}
	if n := strings.Count("\n"+string(before), "\n"+m.old); n != 1 {
		m.outcome, m.said = broken, fmt.Sprintf("the lines stand in the file %d times", n)
		return
	}
	after := strings.Replace("\n"+string(before), "\n"+m.old, "\n"+m.new, 1)[1:]
	if err := os.WriteFile(name, []byte(after), 0o600); err != nil {
		m.outcome, m.said = broken, err.Error()
		return
	}
	defer os.WriteFile(name, before, 0o600)
	if out, err := command(ctx, tree, "build", "./"+filepath.Dir(m.file)); err != nil {
		m.outcome, m.said = broken, out
		return
	}
	if m.outcome = survived; dry {
		return
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = command(limited, tree, append([]string{"test", "-failfast", "-vet=off", "-timeout", limit.String()}, m.tests...)...)
	if err != nil {
		m.outcome = killed
	}
}

// command runs the go tool in the copy, and ends it with all its children.
func command(ctx context.Context, tree string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = tree
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// copyTree copies the module, but for what no test of the checkers needs.
func copyTree() (string, error) {
	tree, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return "", fmt.Errorf("make a copy: %w", err)
	}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(tree, path), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tree, path), b, 0o600)
	})
	if err != nil {
		return "", errors.Join(fmt.Errorf("make a copy: %w", err), os.RemoveAll(tree))
	}
	return tree, nil
}
