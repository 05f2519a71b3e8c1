//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// promise is a line of the README that shows a command and says how it exits.
var promise = regexp.MustCompile(`(?m)^\$ (bin/leasehold .*?)\s+# exits (\d+)`)

// TestReadme runs every command of the README that says how it exits, in the
// order in which they stand there.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	promises := promise.FindAllStringSubmatch(string(text), -1)
	if len(promises) < 8 {
		t.Fatalf("only %d commands found", len(promises))
	}
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"bin/leasehold": own, "histories": filepath.Join(root, "histories"), "workload": filepath.Join(root, "workload"),
	} {
		path := filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range promises {
		cmd := exec.Command("bash", "-c", p[1])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, _ := cmd.CombinedOutput()
		if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != p[2] {
			t.Errorf("%s: exit code %s, the README says %s\n%s", strings.TrimSpace(p[1]), got, p[2], out)
		}
	}
}
