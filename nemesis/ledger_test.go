package nemesis_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/nemesis"
)

// undone notes what was undone, in order.
func undone(list *[]string, failAt string) nemesis.Undos {
	return nemesis.Undos{"freeze": func(_ context.Context, target string) error {
		*list = append(*list, target)
		if target == failAt {
			return errors.New("refused by the test")
		}
		return nil
	}}
}

// What is open when the tool dies is undone, the last first; what it undid itself is not.
func TestReplay(t *testing.T) {
	t.Parallel()
	path, index := filepath.Join(t.TempDir(), "ledger.jsonl"), t.TempDir()
	l, err := nemesis.CreateLedger(path, index)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]int{}
	for _, target := range []string{"a", "b", "c"} {
		if ids[target], err = l.Begin("freeze", target); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Undone(ids["b"]); err != nil {
		t.Fatal(err)
	}
	// The tool died while it entered a fourth one: that never took effect.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":4,"kind":"fre`); err != nil {
		t.Fatal(err)
	}
	f.Close()

	// As long as the tool lives nobody may touch what it has done.
	var early []string
	if _, err := nemesis.ReplayAll(t.Context(), index, undone(&early, "")); err != nil || len(early) != 0 {
		t.Errorf("while the tool is alive: error %v, undone %q", err, early)
	}
	l.Die()

	var got []string
	if _, err := nemesis.ReplayAll(t.Context(), index, undone(&got, "c")); err == nil || !slices.Equal(got, []string{"c", "a"}) {
		t.Errorf("error %v, undone %q", err, got)
	}
	// What could not be undone stays in the index.
	got = nil
	replayed, err := nemesis.ReplayAll(t.Context(), index, undone(&got, ""))
	if err != nil || !slices.Equal(replayed, []string{path}) || !slices.Equal(got, []string{"c", "a"}) {
		t.Errorf("error %v, replayed %q, undone %q", err, replayed, got)
	}
	if left, _ := os.ReadDir(index); len(left) != 0 {
		t.Errorf("left in the index: %v", left)
	}
}

// A ledger in which nothing is open leaves no trace in the index.
func TestLedgerClosedClean(t *testing.T) {
	t.Parallel()
	index := t.TempDir()
	l, err := nemesis.CreateLedger(filepath.Join(t.TempDir(), "ledger.jsonl"), index)
	if err != nil {
		t.Fatal(err)
	}
	id, err := l.Begin("freeze", "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Undone(id), l.Close()); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(index); len(left) != 0 {
		t.Errorf("left in the index: %v", left)
	}
}

// An unknown kind is not passed over in silence: it may be a newer tool's.
func TestReplayUnknownKind(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l, err := nemesis.CreateLedger(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin("melt", "a"); err != nil {
		t.Fatal(err)
	}
	l.Die()
	if err := nemesis.Replay(t.Context(), path, nemesis.Undos{}); err == nil {
		t.Error("no error")
	}
}
