package histories_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/leasehold-checker/leasehold/histories"
)

// manyLines is a file of many blocks: n operations of a few workers.
func manyLines(n int) []string {
	lines := []string{strings.TrimSpace(smallHeader)}
	for i := range n {
		line := func(kind string) string {
			return fmt.Sprintf(`{"time_ns":%d,"process":"%d","op":%d,"type":"%s","f":"check","lock":"lock-%d"}`, i, i%7, i/7, kind, i%3)
		}
		lines = append(lines, line("invoke"), strings.Replace(line("ok"), fmt.Sprintf(`,"lock":"lock-%d"`, i%3), `,"held":true`, 1))
	}
	return lines
}

// However the bytes come, and on however many processors, the history is the same.
func TestBlocksAreJoinedInOrder(t *testing.T) {
	t.Parallel()
	const n = 20_000
	text := strings.Join(manyLines(n), "\n") + "\n"
	want, err := histories.ReadFrom(strings.NewReader(text), "f")
	must(t, err)
	if len(want.Ops) != n {
		t.Fatalf("%d operations", len(want.Ops))
	}
	for i := range want.Ops {
		if o := &want.Ops[i]; o.Line != 2*i+2 || o.ID != int64(i/7) || o.Lock != "lock-"+strconv.Itoa(i%3) || !o.Held.Or(false) {
			t.Fatalf("operation %d is %+v", i, *o)
		}
	}
	for name, r := range map[string]io.Reader{
		"a byte at a time":    iotest.OneByteReader(strings.NewReader(text)),
		"half of each":        iotest.HalfReader(strings.NewReader(text)),
		"the end with a read": iotest.DataErrReader(strings.NewReader(text)),
		"carriage returns":    strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")),
		"no last end of line": strings.NewReader(strings.TrimSuffix(text, "\n")),
	} {
		got, err := histories.DecodeJSONL(r, "f")
		must(t, err)
		if len(got.Ops) != n || len(got.Warnings) != 0 {
			t.Fatalf("%s: %d operations, %q", name, len(got.Ops), got.Warnings)
		}
		for i := range got.Ops {
			if got.Ops[i] != want.Ops[i] {
				t.Fatalf("%s: operation %d is %+v, want %+v", name, i, got.Ops[i], want.Ops[i])
			}
		}
	}
}

// Of several errors the first one in the file is told, wherever blocks begin.
func TestFirstErrorIsTold(t *testing.T) {
	t.Parallel()
	const n = 10_000
	for _, row := range []struct {
		why, bad, want string
	}{
		{"the scanner finds it", `{"time_ns":x}`, `unexpected 'x', want an integer`},
		{"the event is wrong by itself", `{"time_ns":-1,"process":"x","op":0,"type":"invoke","f":"check","lock":"L"}`, `time_ns -1 is negative`},
		{"the events before it make it wrong", `{"time_ns":0,"process":"x","op":0,"type":"ok","f":"check"}`, `ok of op 0 of process x, which was not invoked before`},
		{"it is torn, and not last", `{"time_ns":0`, `line is torn: it ends inside its object`},
		{"it is too long", `{"time_ns":0,"text":"` + strings.Repeat("x", 1<<20) + `"}`, `line is longer than 1 MiB`},
	} {
		for _, at := range []int{1, 2, 3000, 2*n - 5} {
			lines := manyLines(n)
			lines[at] = row.bad
			lines[2*n] = `{"also":"wrong"}`
			_, err := histories.ReadFrom(strings.NewReader(strings.Join(lines, "\n")), "f")
			if want := fmt.Sprintf("f:%d: ", at+1); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s, in line %d: got %v", row.why, at+1, err)
			}
		}
	}
}

func TestErrorOfTheReaderComesAfterTheLinesBeforeIt(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	text := strings.Join(manyLines(10_000), "\n")
	_, err := histories.DecodeJSONL(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "f")
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	wrong := strings.Replace(text, `"held":true`, `"held":1`, 1)
	_, err = histories.DecodeJSONL(io.MultiReader(strings.NewReader(wrong), iotest.ErrReader(broken)), "f")
	if err == nil || errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "f:3: held") {
		t.Errorf("got %v", err)
	}
}

func TestLimitsAreKept(t *testing.T) {
	t.Parallel()
	jsonl := strings.Join(manyLines(10_000), "\n")
	hist := "tokens: none\n" + strings.Repeat("0 1 check L -> ok held=true\n", 10_000)
	for name, text := range map[string]string{"jsonl": jsonl, "hist": hist} {
		if _, err := (histories.Limits{Memory: 8 << 20}).Read(strings.NewReader(text), "f"); err != nil {
			t.Errorf("%s: 10,000 operations do not fit into 8 MiB: %v", name, err)
		}
		h, err := histories.Limits{Memory: 1 << 20}.Read(strings.NewReader(text), "f")
		if h != nil || err == nil || !strings.HasSuffix(err.Error(), "operations so far take more than the limit of 1 MiB of memory") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// A few operations with much in them count, too.
	var long strings.Builder
	long.WriteString(smallHeader)
	for i := range 20 {
		fmt.Fprintf(&long, `{"time_ns":0,"process":"nemesis","op":%d,"type":"invoke","f":"note","text":"%d%s"}`+"\n", i, i, strings.Repeat("x", 100_000))
	}
	if _, err := (histories.Limits{Memory: 1 << 20}).Read(strings.NewReader(long.String()), "f"); err == nil || !strings.Contains(err.Error(), "does not fit") {
		t.Errorf("got %v", err)
	}
}

func packed(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGzipIsTakenOff(t *testing.T) {
	t.Parallel()
	for _, text := range []string{pausedHolder, strings.Join(manyLines(10_000), "\n")} {
		plain, err := histories.ReadFrom(strings.NewReader(text), "f")
		must(t, err)
		h, err := histories.ReadFrom(bytes.NewReader(packed(t, text)), "f")
		must(t, err)
		if d := diff(plain, h); d != "" {
			t.Error(d)
		}
	}
	cut := packed(t, pausedHolder)
	if _, err := histories.ReadFrom(bytes.NewReader(cut[:len(cut)-10]), "f"); err == nil || !strings.Contains(err.Error(), "read gzip: unexpected EOF") {
		t.Errorf("a file that is cut off: %v", err)
	}
}

// A small file that unpacks to gigabytes of nothing is given up early.
func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	for name, filling := range map[string]string{"blank lines": "\n", "comments": "# x\n", "one long line": "x"} {
		r, w := io.Pipe()
		go func() {
			z := gzip.NewWriter(w)
			chunk := strings.Repeat(filling, 1<<20)
			for err := error(nil); err == nil; {
				_, err = io.WriteString(z, chunk) // for ever
			}
		}()
		_, err := histories.ReadFrom(r, "f")
		if err == nil || !strings.Contains(err.Error(), "expand to more than 200 times as many") && !strings.Contains(err.Error(), "longer than 1 MiB") {
			t.Errorf("%s: got %v", name, err)
		}
		r.Close()
	}
}

// Untrusted files end in an answer or in an error, in bounded memory. By default the
// sizes are a hundredth; HUGE=1 takes the full ones.
func TestUntrustedFiles(t *testing.T) {
	scale := 100
	if os.Getenv("HUGE") != "" {
		scale = 1
	}
	line := func(process, op int, kind string) string {
		return fmt.Sprintf(`{"time_ns":%d,"process":"%d","op":%d,"type":"%s","f":"acquire"%s}`+"\n", op, process, op, kind,
			map[string]string{"invoke": `,"lock":"L","ttl_ms":2000`, "ok": ""}[kind])
	}
	header := strings.Replace(smallHeader, "}", `,"tokens":"none"}`, 1)
	for _, row := range []struct {
		name    string
		records int
		record  func(i int) string
		limit   int64 // MiB of memory
		want    string
	}{
		{"5 GB", 40_000_000, func(i int) string {
			return line(i%8, i/8, "invoke") + line(i%8, i/8, "ok")
		}, 2048, "the history does not fit"},
		{"a line of 110 MB", 110_000_000 / 64, func(i int) string {
			if i == 0 {
				return `{"time_ns":0,"process":"1","op":0,"type":"invoke","f":"acquire","lock":"`
			}
			return strings.Repeat("x", 64)
		}, 64, "f:2: line is longer than 1 MiB"},
		{"a million processes with one operation each", 1_000_000, func(i int) string {
			return line(i, 0, "invoke") + line(i, 0, "ok")
		}, 2048, ""},
		{"a million unknowns", 1_000_000, func(i int) string { return line(i, 0, "invoke") }, 2048, ""},
		{"binary garbage", 1_000_000, func(i int) string { return string([]byte{byte(i), byte(i >> 3), 0xfe, 0}) }, 64, "f:1: "},
	} {
		peak := int64(0)
		limit := row.limit << 20
		if limit > 64<<20 {
			limit /= int64(scale)
		}
		runtime.GC() // what the row before has left
		r := &recordReader{n: row.records / scale, record: row.record, buffer: []byte(header), peak: &peak}
		if row.want == "f:1: " {
			r.buffer = nil
		}
		h, err := histories.Limits{Memory: limit}.Read(r, "f")
		if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) || row.want == "" && err != nil {
			t.Errorf("%s: got %v", row.name, err)
		}
		if row.want == "" && err == nil && len(h.Ops) != row.records/scale {
			t.Errorf("%s: %d operations", row.name, len(h.Ops))
		}
		// Twice the limit, for tables and garbage, and what the other tests take.
		if most := 3*limit + 256<<20; peak > most {
			t.Errorf("%s: %d MiB in use, want at most %d", row.name, peak>>20, most>>20)
		}
		t.Logf("%s: %d bytes read, %d MiB in use: %v", row.name, r.read, peak>>20, err)
	}
}

// recordReader makes a file while it is read.
type recordReader struct {
	n, i   int
	record func(int) string
	buffer []byte
	read   int64
	peak   *int64
}

func (r *recordReader) Read(b []byte) (int, error) {
	for len(r.buffer) < len(b) && r.i < r.n {
		r.buffer = append(r.buffer, r.record(r.i)...)
		r.i++
		if r.i%500_000 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*r.peak = max(*r.peak, int64(m.HeapInuse))
		}
	}
	if len(r.buffer) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.buffer)
	r.buffer = append(r.buffer[:0], r.buffer[n:]...)
	r.read += int64(n)
	return n, nil
}
