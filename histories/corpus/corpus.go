// Package corpus holds known histories with the verdicts that are right for
// them: retold from public bug reports about locks and leases, and made by hand.
// README.md says how they are meant. The expectations of a history stand in
// Header.Expect.
package corpus

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/leasehold-checker/leasehold/histories"
)

//go:embed *.hist
var files embed.FS

// Files are the histories in the text notation, NAME.hist in the root.
func Files() fs.FS { return files }

// Entry is one known history.
type Entry struct {
	Name    string // the file without .hist, such as "t00-plain-valid"
	History *histories.History
}

// All parses the whole corpus, sorted by name.
func All() ([]Entry, error) {
	names, err := fs.Glob(files, "*.hist")
	if err != nil {
		return nil, fmt.Errorf("list corpus: %w", err)
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		f, err := files.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open corpus: %w", err)
		}
		h, err := histories.ParseText(f, name)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("parse corpus: %w", err)
		}
		entries = append(entries, Entry{Name: strings.TrimSuffix(name, ".hist"), History: h})
	}
	return entries, nil
}
