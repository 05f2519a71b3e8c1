//go:build linux

package register_test

import (
	"context"
	"sync"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
)

// BenchmarkLatency is one client that writes and reads in turn.
func BenchmarkLatency(b *testing.B) { benchmark(b, 1) }

// BenchmarkThroughput is 32 clients at once.
func BenchmarkThroughput(b *testing.B) { benchmark(b, 32) }

func benchmark(b *testing.B, clients int) {
	endpoint := startChild(b, register.Config{Fence: histories.FenceAll}).Endpoint()
	ctx := context.Background()
	token := histories.Some(int64(33))
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for client := range clients {
		c, err := register.Dial(ctx, endpoint)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		n := b.N / clients
		if client < b.N%clients {
			n++
		}
		wg.Go(func() {
			<-begin
			for i := range n {
				var err error
				if i%2 == 0 {
					_, err = c.Write(ctx, "R", token, "1.17")
				} else {
					_, err = c.Read(ctx, "R", token)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	close(begin)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}
