package checker_test

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// memoryOf is how many bytes a run has reachable at once, beyond what was there before.
// The collector says what is reachable each time that it has looked, and is made to look
// after each few per cent of new memory.
func memoryOf(b *testing.B, run func() error) int64 {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	before := reachable()
	stop, peak := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			most = max(most, reachable()-before)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	if err := run(); err != nil {
		b.Fatal(err)
	}
	close(stop)
	return <-peak
}

// reachable is what the collector found reachable when it last looked.
func reachable() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
