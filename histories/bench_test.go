package histories_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
)

// plainHistory is what many workers do on locks of their own: n operations.
func plainHistory(n int) *histories.History {
	const workers = 32
	h := &histories.History{}
	for w := range workers {
		h.Header.Guards = append(h.Header.Guards, histories.Guard{Lock: "lock-" + strconv.Itoa(w), Resource: "register-" + strconv.Itoa(w)})
	}
	for i := range n {
		w := i % workers
		name, token := strconv.Itoa(w), histories.Some(int64(i/workers/10))
		o := histories.Operation{
			Process: name, ID: int64(i / workers), Type: histories.OK, Invoke: int64(i) * 30_000, Return: int64(i)*30_000 + 20_000,
			F: histories.Write, Resource: "register-" + name, Grant: name + "." + strconv.Itoa(i/workers/10), Token: token,
			Value: histories.Some(name + "-" + strconv.Itoa(i)), Seq: histories.Some(int64(i)),
		}
		if i/workers%10 == 0 {
			o.F, o.Lock, o.Resource, o.TTLAsked = histories.Acquire, "lock-"+name, "", 2000
			o.Value, o.Seq = histories.Option[string]{}, histories.Option[int64]{}
		}
		h.Ops = append(h.Ops, o)
	}
	return h
}

func BenchmarkDecodeJSONL(b *testing.B) {
	const n = 100_000
	var text bytes.Buffer
	if err := histories.EncodeJSONL(&text, plainHistory(n)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := histories.DecodeJSONL(bytes.NewReader(text.Bytes()), "f"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(2*n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEncodeJSONL(b *testing.B) {
	const n = 100_000
	h := plainHistory(n)
	for b.Loop() {
		if err := histories.EncodeJSONL(io.Discard, h); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(2*n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkRecorder is what recording costs a worker: an invocation and its
// answer, into a real file.
func BenchmarkRecorder(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "1.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	began := time.Now()
	r := histories.NewRecorder(f, "1", func() int64 { return int64(time.Since(began)) })
	op := histories.Operation{F: histories.Write, Resource: "register-1", Grant: "1.7", Value: histories.Some("1-123456"), Token: histories.Some(int64(33))}
	answer := histories.Operation{Type: histories.OK, Seq: histories.Some(int64(9))}
	events := make([]time.Duration, 0, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		id, err := r.Invoke(op)
		invoked := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Answer(id, answer); err != nil {
			b.Fatal(err)
		}
		events = append(events, invoked.Sub(start), time.Since(invoked))
	}
	slices.Sort(events)
	b.ReportMetric(float64(events[len(events)/2]), "p50-ns/event")
	b.ReportMetric(float64(events[len(events)*99/100]), "p99-ns/event")
}
