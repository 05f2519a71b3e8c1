package edn_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/edn"
)

// The library calls itself for every bracket: what is nested deep must not reach it.
func TestDeepNestingIsRefused(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for _, nested := range []string{"[", "(", "{", "#{", "#a ", "#_ ", "{:a ", "[#b "} {
		text := "{:type :invoke, :process 0, :f :write, :value " + strings.Repeat(nested, n) + "}"
		_, err := edn.Decode(strings.NewReader(text), "f")
		if err == nil || err.Error() != "f:1: nested more than 256 deep" {
			t.Errorf("%s: got %v", nested, err)
		}
		if _, err = edn.Decode(strings.NewReader(strings.Repeat(nested, n)), "f"); err == nil {
			t.Errorf("%s at the top: no error", nested)
		}
	}
	deep := "{:type :invoke, :process 0, :f :write, :value " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"
	if _, err := edn.Decode(strings.NewReader(deep), "f"); err != nil {
		t.Errorf("200 deep: %v", err)
	}
}

// Untrusted files end in an answer or in an error, in bounded memory. By default the
// sizes are a hundredth; HUGE=1 takes the full ones.
func TestUntrustedFiles(t *testing.T) {
	scale := 100
	if os.Getenv("HUGE") != "" {
		scale = 1
	}
	op := func(kind string, process int, value string) string {
		return fmt.Sprintf("{:type :%s, :process %d, :f :acquire, :value %s, :time %d}\n", kind, process, value, process)
	}
	repeat := func(s string) func(int) string { return func(int) string { return s } }
	for _, row := range []struct {
		name   string
		n      int
		part   func(int) string
		limit  int64 // MiB
		wanted string
	}{
		{"a million processes with one operation each", 1_000_000, func(i int) string { return op("invoke", i, "nil") + op("ok", i, "nil") }, 2048, ""},
		{"a million unknowns", 1_000_000, func(i int) string { return op("invoke", i, "nil") }, 2048, ""},
		{"5 GB", 30_000_000, func(i int) string { return op("invoke", i, "nil") + op("ok", i, "nil") }, 2048, "the history does not fit"},
		{"values of 5 GB", 10_000, func(i int) string { return op("invoke", i, fmt.Sprintf(`"%d%s"`, i, strings.Repeat("x", 500_000))) }, 2048, "the history does not fit"},
		{"a string of 110 MB", 1_100_000, func(i int) string { return map[bool]string{true: `{:a "`}[i == 0] + strings.Repeat("x", 100) }, 64, "f:1: operation is longer than 1 MiB"},
		{"a comment of 110 MB in an operation", 1_100_000, func(i int) string { return map[bool]string{true: `{;`}[i == 0] + strings.Repeat("x", 100) }, 64, "f:1: operation is longer than 1 MiB"},
		{"a comment of 110 MB between operations", 1_100_000, repeat(";" + strings.Repeat("x", 100)), 64, "f:1: empty file"},
		{"a million empty lines", 1_000_000, repeat("\n"), 64, ": empty file"},
		{"binary garbage", 1_000_000, func(i int) string { return string([]byte{byte(i), byte(i >> 3), 0xfe, 0}) }, 64, "f:1: "},
	} {
		limit := row.limit << 20
		if row.limit > 64 {
			limit /= int64(scale)
		}
		runtime.GC() // what the row before has left
		r := &parts{n: row.n / scale, part: row.part}
		h, err := edn.DecodeWithin(r, "f", histories.Limits{Memory: limit})
		if row.wanted != "" && (err == nil || !strings.Contains(err.Error(), row.wanted)) || row.wanted == "" && err != nil {
			t.Errorf("%s: got %v", row.name, err)
		}
		if row.wanted == "" && err == nil && len(h.Ops) != row.n/scale {
			t.Errorf("%s: %d operations", row.name, len(h.Ops))
		}
		if most := 3*limit + 256<<20; r.peak > most {
			t.Errorf("%s: %d MiB in use, want at most %d", row.name, r.peak>>20, most>>20)
		}
		t.Logf("%s: %d bytes read, %d MiB in use: %v", row.name, r.read, r.peak>>20, err)
	}
}

// parts makes a file while it is read.
type parts struct {
	n, i       int
	part       func(int) string
	buffer     []byte
	read, peak int64
}

func (p *parts) Read(b []byte) (int, error) {
	for len(p.buffer) < len(b) && p.i < p.n {
		p.buffer = append(p.buffer, p.part(p.i)...)
		if p.i++; p.i%1000 == 0 && p.i*20%p.n < 20_000 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			p.peak = max(p.peak, int64(m.HeapInuse))
		}
	}
	if len(p.buffer) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.buffer)
	p.buffer = append(p.buffer[:0], p.buffer[n:]...)
	p.read += int64(n)
	return n, nil
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.edn")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, row := range shapes {
		f.Add([]byte(strings.TrimSpace(row.in)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		edn.Is(b)
		h, err := edn.Decode(bytes.NewReader(b), "f")
		if err != nil {
			if h != nil {
				t.Fatal("a history beside an error")
			}
			return
		}
		if err := histories.Validate(h); err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if _, err := edn.Encode(&again, h); err != nil {
			return // it holds what EDN cannot say
		}
		if _, err := edn.Decode(bytes.NewReader(again.Bytes()), "f"); err != nil {
			t.Fatalf("%v\n%s", err, again.Bytes())
		}
	})
}
