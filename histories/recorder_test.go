package histories_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// ticker is a clock that goes on by one at each look.
func ticker() func() int64 {
	now := int64(-1)
	return func() int64 { now++; return now }
}

// record fills a file with what one process does.
func record(t *testing.T, process string, do func(r *histories.Recorder)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), process+".jsonl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	do(histories.NewRecorder(f, process, ticker()))
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRecordedFilesMerge(t *testing.T) {
	t.Parallel()
	worker := record(t, "1", func(r *histories.Recorder) {
		id, err := r.Invoke(histories.Operation{F: histories.Acquire, Lock: "L", TTLAsked: 2000})
		must(t, err)
		must(t, r.Answer(id, histories.Operation{Type: histories.OK, Token: histories.Some(int64(5)), TTL: 3000, Grant: "1.1"}))
		op := histories.Operation{F: histories.Write, Resource: "R", Value: histories.Some("a\nb"), Token: histories.Some(int64(5))}
		id, err = r.Invoke(op)
		must(t, err)
		op.Type, op.Error, op.Seq = histories.Fail, "fenced:\n\ttoo  old ", histories.Some(int64(9))
		must(t, r.Answer(id, op))
		must(t, r.Instant(histories.Operation{F: histories.Lost, Lock: "L"}))
		_, err = r.Invoke(histories.Operation{F: histories.Release, Lock: "L"})
		must(t, err)
	})
	nemesis := record(t, histories.Nemesis, func(r *histories.Recorder) {
		must(t, r.Instant(histories.Operation{F: histories.Pause, Target: "1", Point: histories.PointChecked}))
	})
	silent := record(t, "2", func(*histories.Recorder) {})
	h, err := histories.Merge(histories.Header{}, []string{worker, nemesis, silent})
	must(t, err)
	want := []string{
		`0..0.000001 1 acquire L ttl=2000 -> ok token=5 ttl=3000 grant=1.1`,
		`0 nemesis pause 1 point=checked`,
		"0.000002..0.000003 1 write R a\nb token=5 -> fail fenced: too old seq=9",
		`0.000004 1 lost L`,
		`0.000005.. 1 release L -> info`,
	}
	for i := range h.Ops {
		if got := histories.FormatOperation(&h.Ops[i]); i >= len(want) || got != want[i] {
			t.Errorf("operation %d is %s", i, got)
		}
	}
	back, _ := throughJSONL(t, h)
	if d := diff(h, back); d != "" {
		t.Error(d)
	}
}

func TestMergeDropsTornLinesAndNamesFiles(t *testing.T) {
	t.Parallel()
	const invoke = `{"time_ns":5,"process":"1","op":0,"type":"invoke","f":"acquire","lock":"L"}` + "\n"
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	one := write("one", invoke+`{"time_ns":6,"process":"1","op":0,"ty`)
	h, err := histories.Merge(histories.Header{}, []string{one})
	must(t, err)
	if len(h.Ops) != 1 || h.Ops[0].Return != histories.Never || len(h.Warnings) != 1 || !strings.HasPrefix(h.Warnings[0], one+":2: ") {
		t.Errorf("got %+v", h)
	}
	for _, row := range []struct {
		why   string
		files []string
		want  string
	}{
		{"two processes in one file", []string{write("two", invoke+strings.ReplaceAll(invoke, `"1"`, `"2"`))}, "two:2: process 2 in the file of process 1"},
		{"one process in two files", []string{one, write("again", invoke)}, "again:1: process 1 has a file already"},
		{"a torn line inside", []string{write("torn", invoke[:20]+"\n"+invoke)}, "torn:1: line is torn"},
		{"an operation that cannot be judged", []string{one, write("bad", strings.ReplaceAll(strings.Replace(invoke, `,"lock":"L"`, "", 1), `"1"`, `"3"`))}, "bad:1: acquire without a lock"},
		{"a file that is not there", []string{filepath.Join(t.TempDir(), "gone")}, "open events"},
	} {
		h, err := histories.Merge(histories.Header{}, row.files)
		if h != nil || err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %s", row.why, err, row.want)
		}
	}
}

// writes counts calls and lines, and fails from some call on.
type writes struct {
	bytes.Buffer
	calls, failAt int
}

func (w *writes) Write(b []byte) (int, error) {
	w.calls++
	if w.failAt > 0 && w.calls >= w.failAt {
		n, _ := w.Buffer.Write(b[:len(b)/2])
		return n, errors.New("disk full")
	}
	return w.Buffer.Write(b)
}

func TestRecorderWritesEachEventAtOnce(t *testing.T) {
	t.Parallel()
	w := &writes{}
	r := histories.NewRecorder(w, "1", ticker())
	id, err := r.Invoke(histories.Operation{F: histories.Check, Lock: "L"})
	must(t, err)
	if w.calls != 1 || !strings.HasSuffix(w.String(), "}\n") {
		t.Fatalf("after the invocation: %d writes, %q", w.calls, w.String())
	}
	must(t, r.Answer(id, histories.Operation{Type: histories.OK, Held: histories.Some(true)}))
	must(t, r.Instant(histories.Operation{F: histories.Lost, Lock: "L"}))
	if w.calls != 3 {
		t.Errorf("%d writes for three calls", w.calls)
	}
	if err := r.Answer(id, histories.Operation{Type: histories.OK}); err == nil {
		t.Error("a second answer was recorded")
	}
}

// A line behind half a line could not be read, and a torn last line can.
func TestRecorderStopsAfterAFailedWrite(t *testing.T) {
	t.Parallel()
	w := &writes{failAt: 2}
	r := histories.NewRecorder(w, "1", ticker())
	id, err := r.Invoke(histories.Operation{F: histories.Check, Lock: "L"})
	must(t, err)
	for range 3 {
		if err := r.Answer(id, histories.Operation{Type: histories.Info}); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Fatalf("got %v", err)
		}
	}
	file := filepath.Join(t.TempDir(), "one")
	must(t, os.WriteFile(file, w.Bytes(), 0o600))
	h, err := histories.Merge(histories.Header{}, []string{file})
	must(t, err)
	if len(h.Ops) != 1 || h.Ops[0].Type != histories.Info {
		t.Errorf("got %+v", h.Ops)
	}
}

func TestRecorderRefusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := &writes{}
	r := histories.NewRecorder(w, "1", ticker())
	for why, op := range map[string]histories.Operation{
		"a token before it was granted": {F: histories.Acquire, Lock: "L", Token: histories.Some(int64(1))},
		"a value before it was read":    {F: histories.Read, Resource: "R", Value: histories.Some("a")},
		"a fault by a worker":           {F: histories.Pause, Target: "2"},
		"an event longer than a line":   {F: histories.Write, Resource: "R", Value: histories.Some(strings.Repeat("x", 1<<20))},
	} {
		if _, err := r.Invoke(op); err == nil {
			t.Errorf("%s was recorded", why)
		}
	}
	if w.calls != 0 {
		t.Errorf("%d writes", w.calls)
	}
	id, err := r.Invoke(histories.Operation{F: histories.Acquire, Lock: "L", Grant: "1.1"})
	must(t, err)
	if err := r.Answer(id, histories.Operation{Type: histories.OK, Grant: "1.2"}); err == nil {
		t.Error("another grant than the one asked for was recorded")
	}
	if err := r.Answer(id, histories.Operation{}); err == nil {
		t.Error("an answer without a type was recorded")
	}
	must(t, r.Answer(id, histories.Operation{Type: histories.OK, Grant: "1.1", Token: histories.Some(int64(1))}))
	if strings.Count(w.String(), "1.1") != 1 {
		t.Errorf("the grant is not named once:\n%s", w.String())
	}
}

func TestRecorderIsSafeForGoroutines(t *testing.T) {
	t.Parallel()
	file := record(t, "1", func(r *histories.Recorder) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 200 {
					id, err := r.Invoke(histories.Operation{F: histories.Renew, Lock: "L"})
					if err == nil {
						err = r.Answer(id, histories.Operation{Type: histories.Fail, Error: strings.Repeat("é", 900)})
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	h, err := histories.Merge(histories.Header{}, []string{file})
	must(t, err)
	if len(h.Ops) != 1600 || len(h.Ops[0].Error) != 1000 {
		t.Errorf("%d operations, reasons of %d bytes", len(h.Ops), len(h.Ops[0].Error))
	}
}
