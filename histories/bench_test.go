package histories_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
)

// busyHistory is what a campaign records: n operations of 32 workers on 16 locks,
// two workers each, who acquire, read, check, write, read back and release in turn.
func busyHistory(n int) *histories.History {
	const locks = 16
	h := &histories.History{}
	for l := range locks {
		name := strconv.Itoa(l)
		h.Header.Guards = append(h.Header.Guards, histories.Guard{Lock: "lock-" + name, Resource: "register-" + name})
	}
	var ids [2 * locks]int64
	var grants [locks]int64
	for i := range n {
		l, step := i%locks, i/locks%6
		if step == 0 {
			grants[l]++
		}
		w := 2*l + int(grants[l])%2
		o := busyOperation(step, w, l, grants[l])
		o.ID, o.Invoke = ids[w], int64(i)*30_000
		o.Return = o.Invoke + 20_000
		ids[w]++
		h.Ops = append(h.Ops, o)
	}
	return h
}

func busyOperation(step, worker, lock int, grant int64) histories.Operation {
	name := strconv.Itoa(worker)
	o := histories.Operation{Process: name, Type: histories.OK, Grant: name + "." + strconv.FormatInt(grant, 10), Token: histories.Some(grant)}
	onLock := step == 0 || step == 2 || step == 5
	if onLock {
		o.Lock = "lock-" + strconv.Itoa(lock)
	} else {
		o.Resource = "register-" + strconv.Itoa(lock)
	}
	value := func(grant int64) histories.Option[string] {
		return histories.Some(strconv.Itoa(lock) + "-" + strconv.FormatInt(grant, 10))
	}
	switch step {
	case 0:
		o.F, o.TTLAsked = histories.Acquire, 2000
	case 1:
		o.F, o.Value, o.Seq = histories.Read, value(grant-1), histories.Some(2*grant-1)
	case 2:
		o.F, o.Held, o.Token = histories.Check, histories.Some(true), histories.Option[int64]{}
	case 3:
		o.F, o.Value, o.Seq = histories.Write, value(grant), histories.Some(2*grant)
	case 4:
		o.F, o.Value, o.Seq = histories.Read, value(grant), histories.Some(2*grant)
	case 5:
		o.F, o.Token = histories.Release, histories.Option[int64]{}
	}
	return o
}

// BenchmarkDecodeJSONL reads a file of a million operations: two million lines.
func BenchmarkDecodeJSONL(b *testing.B) {
	const n = 1_000_000
	path := filepath.Join(b.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(histories.EncodeJSONL(f, busyHistory(n)), f.Close()); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := histories.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(2*n*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEncodeJSONL(b *testing.B) {
	const n = 100_000
	h := busyHistory(n)
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
