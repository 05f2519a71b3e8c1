package checker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

func encoded(t *testing.T, h *histories.History) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := histories.EncodeJSONL(&b, h); err != nil {
		t.Fatalf("%v\n%s", err, text(h))
	}
	return b.Bytes()
}

func throughJSONL(t *testing.T, _ *rand.Rand, h *histories.History) *histories.History {
	t.Helper()
	back, err := histories.DecodeJSONL(bytes.NewReader(encoded(t, h)), "")
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// throughText takes the histories that the text notation can say.
func throughText(t *testing.T, _ *rand.Rand, h *histories.History) *histories.History {
	t.Helper()
	var b bytes.Buffer
	if histories.FormatText(&b, h) != nil {
		return nil
	}
	back, err := histories.ParseText(&b, "")
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// split gives every process a file of its own and merges them, in any order.
func split(t *testing.T, r *rand.Rand, h *histories.History) *histories.History {
	t.Helper()
	dir := t.TempDir()
	files := map[string]*bytes.Buffer{}
	for _, line := range bytes.SplitAfter(encoded(t, h), []byte("\n"))[1:] {
		var event struct{ Process string }
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if files[event.Process] == nil {
			files[event.Process] = &bytes.Buffer{}
		}
		files[event.Process].Write(line)
	}
	var names []string
	for process, content := range files {
		name := filepath.Join(dir, fmt.Sprintf("%x.jsonl", process))
		if err := os.WriteFile(name, content.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	r.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	back, err := histories.Merge(h.Header, names)
	if err != nil {
		t.Fatal(err)
	}
	return back
}
