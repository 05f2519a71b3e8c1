//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inFolder runs a program in a folder, and expects it to end well.
func inFolder(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	if program == os.Args[0] {
		cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+t.TempDir())
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestInitRunsAtOnce: a Go module is put under leasehold, and all that was written works
// without a change: the test passes, the campaign file is valid, the workflow is one.
func TestInitRunsAtOnce(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	inFolder(t, dir, "go", "mod", "init", "example.org/my-lock")
	out := inFolder(t, dir, os.Args[0], "init", "--source", root)
	for _, want := range []string{"wrote leasehold.yaml", "wrote .github/workflows/lease.yml", "wrote lease_test.go"} {
		if !strings.Contains(out, want) {
			t.Errorf("init does not say %q:\n%s", want, out)
		}
	}
	inFolder(t, dir, "go", "vet", ".")
	log := inFolder(t, dir, "go", "test", "-short", "-v", "-run", "^TestPausedHolder$", ".")
	if !strings.Contains(log, "the unfenced control violated 8 of 8") {
		t.Errorf("the test shows nothing:\n%s", log)
	}
	if cells := inFolder(t, dir, os.Args[0], "config", "validate"); !strings.Contains(cells, "etcd-mutex/register/check/all") {
		t.Errorf("cells:\n%s", cells)
	}
	inFolder(t, root, "go", "tool", "actionlint", "-shellcheck=", "-pyflakes=", filepath.Join(dir, ".github", "workflows", "lease.yml"))
}

// TestInitElsewhere: without a Go module there is no test, and nothing is overwritten;
// with a client library that is known, the campaign is about its lock.
func TestInitElsewhere(t *testing.T) {
	dir := t.TempDir()
	inFolder(t, dir, os.Args[0], "init")
	if _, err := os.Stat(filepath.Join(dir, "lease_test.go")); err == nil {
		t.Error("a test file outside of a Go module")
	}
	cmd := exec.Command(os.Args[0], "init")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asCommand+"=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "leasehold.yaml is there already") {
		t.Errorf("%v\n%s", err, out)
	}
	for file, want := range map[string]string{
		"module example.org/a\nrequire github.com/redis/go-redis/v9 v9.0.0\n":             "redis-counter",
		"module example.org/a\nrequire github.com/redis/go-redis/v9 v9.0.0 // indirect\n": "etcd-mutex",
		"module example.org/a\nrequire github.com/jackc/pgx/v5 v5.0.0\n":                  "pg-row",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		if p, err := lookAround(); err != nil || p.Lock != want || p.Package != "a" {
			t.Errorf("%q: %+v, %v", file, p, err)
		}
	}
}
