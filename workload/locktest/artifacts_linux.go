package locktest

import (
	"flag"
	"os"
	"testing"
)

// artifactFolder is where a run directory goes.
type artifactFolder struct {
	path string
	kept bool
}

func (a *artifactFolder) keep() { a.kept = true }

// artifacts is the test's own artifact folder where somebody asked for artifacts.
// Otherwise go test would remove that folder, and with it the picture of a violation: so
// there is one that stays if the test fails.
func artifacts(t *testing.T) *artifactFolder {
	t.Helper()
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		return &artifactFolder{path: t.ArtifactDir()}
	}
	path, err := os.MkdirTemp("", "leasehold-*")
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	a := &artifactFolder{path: path}
	t.Cleanup(func() {
		if a.kept || t.Failed() {
			return
		}
		if err := os.RemoveAll(path); err != nil {
			t.Errorf("locktest: %v", err)
		}
	})
	return a
}
