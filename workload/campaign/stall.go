package campaign

import (
	"sync"
	"time"
)

// StallFactor is how many times the worst scheduling stall of the host a ttl must be.
// On a machine that stands still for longer than a lease lasts, leases run out
// without any fault, and nobody can say why (tinylabscom/mvm, pull request 2270,
// saw stalls of 298 ms against leases of 20 ms).
const StallFactor = 10

const stallTick = time.Millisecond

// stallMeter watches how late the host wakes a goroutine that asked for a
// millisecond of sleep.
type stallMeter struct {
	stop  chan struct{}
	done  sync.WaitGroup
	mu    sync.Mutex
	worst time.Duration
}

func measureStalls() *stallMeter {
	m := &stallMeter{stop: make(chan struct{})}
	m.done.Add(1)
	go m.run()
	return m
}

func (m *stallMeter) run() {
	defer m.done.Done()
	last := time.Now()
	for {
		select {
		case <-m.stop:
			return
		case <-time.After(stallTick):
		}
		now := time.Now()
		m.mu.Lock()
		m.worst = max(m.worst, now.Sub(last)-stallTick)
		m.mu.Unlock()
		last = now
	}
}

// end stops the meter and returns the longest stall.
func (m *stallMeter) end() time.Duration {
	close(m.stop)
	m.done.Wait()
	return m.worst
}
