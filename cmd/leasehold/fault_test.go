package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// A fault of the checker exits 70 whatever it is, and a history that came from
// standard input is saved and can be read again.
func TestFault(t *testing.T) {
	t.Parallel()
	h, err := histories.ParseText(strings.NewReader("0..1 A acquire L ttl=10 -> ok token=1\n"), "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, cause := range []error{checker.ErrDisagree, checker.ErrCertificate, fmt.Errorf("panic: %w", checker.ErrFault)} {
		if code := exitCode(fmt.Errorf("check history: %w", cause)); code != exitInternal {
			t.Errorf("%v: exit %d", cause, code)
		}
		dir := t.TempDir()
		code, err := fault(h, "-", dir, cause)
		if code != exitInternal {
			t.Errorf("%v: exit %d", cause, code)
		}
		saved, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if len(saved) != 1 || !strings.Contains(err.Error(), saved[0]) {
			t.Fatalf("saved %v, said %v", saved, err)
		}
		again, readErr := histories.ReadFile(saved[0])
		if readErr != nil || len(again.Ops) != len(h.Ops) {
			t.Errorf("read again: %v", readErr)
		}
	}
	dir := t.TempDir()
	if _, err := fault(h, "a.hist", dir, checker.ErrDisagree); !strings.Contains(err.Error(), "a.hist") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("a file that is there already was saved again: %v", left)
	}
}
