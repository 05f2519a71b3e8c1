package histories_test

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

// addFiles makes seeds of the files that match.
func addFiles(f *testing.F, pattern string) {
	f.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

func FuzzDecodeJSONL(f *testing.F) {
	addFiles(f, "testdata/malformed/*.jsonl")
	for seed := range uint64(8) {
		var b bytes.Buffer
		if err := histories.EncodeJSONL(&b, randomHistory(rand.New(rand.NewPCG(seed, 3)), 2, 6, false)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := histories.DecodeJSONL(bytes.NewReader(b), "f")
		if err != nil {
			if h != nil {
				t.Fatal("a history beside an error")
			}
			return
		}
		must(t, histories.Validate(h))
		back, text := throughJSONL(t, h)
		if d := diff(h, back); d != "" {
			t.Fatalf("%s\n%s", d, text)
		}
		// Where the text notation can say it at all, it says the same.
		var hist bytes.Buffer
		if histories.FormatText(&hist, h) != nil {
			return
		}
		back, err = histories.ParseText(bytes.NewReader(hist.Bytes()), "f")
		must(t, err)
		h.Header.Cell, h.Header.Seed, h.Header.Versions = "", histories.Option[int64]{}, nil
		if d := diff(h, back); d != "" {
			t.Fatalf("%s\n%s", d, hist.String())
		}
	})
}

func FuzzParseText(f *testing.F) {
	addFiles(f, "testdata/malformed/*.hist")
	f.Add([]byte(pausedHolder))
	names, err := fs.Glob(corpus.Files(), "*.hist")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(corpus.Files(), name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := histories.ParseText(bytes.NewReader(b), "f")
		if err != nil {
			if h != nil {
				t.Fatal("a history beside an error")
			}
			return
		}
		must(t, histories.Validate(h))
		fromJSONL, _ := throughJSONL(t, h)
		back, text := throughText(t, fromJSONL)
		if d := diff(h, back); d != "" {
			t.Fatalf("%s\n%s", d, text)
		}
	})
}

// FuzzReadFrom reads what is packed, and knows the notation by its first bytes.
func FuzzReadFrom(f *testing.F) {
	f.Add([]byte(pausedHolder))
	f.Add(packed(f, pausedHolder))
	f.Add(packed(f, smallHeader))
	f.Add(append(packed(f, smallHeader), packed(f, "\n\n")...)) // two members are one file
	f.Add(packed(f, string(packed(f, pausedHolder))))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := histories.ReadFrom(bytes.NewReader(b), "f")
		if err != nil {
			if h != nil {
				t.Fatal("a history beside an error")
			}
			return
		}
		must(t, histories.Validate(h))
	})
}
