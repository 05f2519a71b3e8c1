package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// TestTailReadsWhatHasGrown: a file is read on while it is written, also where a look
// ends in the middle of a line, and operations come out as they were recorded.
func TestTailReadsWhatHasGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "worker-1.jsonl")
	f := &tail{path: path}
	if got := f.more(t.Context(), false); got != nil {
		t.Fatalf("%d operations in a file that is not there yet", len(got))
	}
	now := int64(0)
	whole := recorded(t, func() int64 { now += 10; return now })
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got []histories.Operation
	for _, b := range whole {
		if _, err := file.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
		got = append(got, f.more(t.Context(), false)...)
	}
	f.file.Close()
	if len(got) != 2 {
		t.Fatalf("%d operations, want the two that were answered ok: %v", len(got), got)
	}
	a, w := got[0], got[1]
	if a.F != histories.Acquire || a.Grant != "1.1" || a.Token != histories.Some(int64(7)) || a.Invoke != 10 || a.Return != 20 {
		t.Errorf("acquire read as %+v", a)
	}
	if w.F != histories.Write || w.Grant != "1.1" || w.Seq != histories.Some(int64(3)) || w.Value != histories.Some("x") || w.Resource != "R" {
		t.Errorf("write read as %+v", w)
	}
}

// recorded is a worker's file: an acquire, a write, and a read that is never answered.
func recorded(t *testing.T, clock func() int64) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorded.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := histories.NewRecorder(file, "1", clock)
	do := func(asked histories.Operation, answer *histories.Operation) {
		t.Helper()
		id, err := r.Invoke(asked)
		if err == nil && answer != nil {
			err = r.Answer(id, *answer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	do(histories.Operation{F: histories.Acquire, Lock: "L", Grant: "1.1"}, &histories.Operation{Type: histories.OK, Token: histories.Some(int64(7))})
	do(histories.Operation{F: histories.Write, Resource: "R", Grant: "1.1", Value: histories.Some("x")}, &histories.Operation{Type: histories.OK, Seq: histories.Some(int64(3))})
	do(histories.Operation{F: histories.Read, Resource: "R", Grant: "1.1"}, nil)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
