package checker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

// What a small history may cost, whatever is in it.
const (
	fuzzTimeout = 2 * time.Second
	fuzzSlack   = 8 * time.Second // beyond the limit, on a machine that is busy with fuzzing
	fuzzMemory  = 1 << 30
)

// FuzzCheck: whatever can be read is judged: without a panic, in time, in bounded memory,
// the same whenever it is asked, and without one part of the checker contradicting another
// (ErrDisagree, ErrCertificate).
func FuzzCheck(f *testing.F) {
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
	for seed := range 40 {
		f.Add([]byte(text(anyHistory(seed))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := histories.ParseText(bytes.NewReader(b), "f")
		if err != nil {
			if h, err = histories.DecodeJSONL(bytes.NewReader(b), "f"); err != nil {
				return
			}
		}
		start, before := time.Now(), heap()
		r, err := checker.Check(context.Background(), h, checker.Options{Timeout: fuzzTimeout})
		took := time.Since(start)
		if took > fuzzTimeout+fuzzSlack {
			t.Fatalf("%s", took)
		}
		if more := heap() - before; more > fuzzMemory {
			t.Fatalf("%d MB", more>>20)
		}
		if err != nil {
			mustBeInput(t, err)
			return
		}
		if took < fuzzTimeout/4 { // what a time limit cuts off may differ
			sameAgain(t, h, &r)
		}
	})
}

// mustBeInput: the only error there is to a history that was read is a grant of nobody.
func mustBeInput(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, checker.ErrUnknownGrant) {
		t.Fatal(err)
	}
}

// sameAgain: a second look at the same history, which was written and read once more,
// finds the same.
func sameAgain(t *testing.T, h *histories.History, r *checker.Result) {
	t.Helper()
	again, err := checker.Check(context.Background(), throughJSONL(t, nil, h), checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Warnings = r.Warnings
	x, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Fatalf("%s\n%s", x, y)
	}
}

func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
