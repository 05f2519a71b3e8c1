package conformance

import (
	"sync"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

// listener keeps what a library did on its own.
type listener struct {
	began    chan string
	renewals chan renewal

	mu   sync.Mutex
	last time.Time
}

type renewal struct {
	session           string
	invoked, answered time.Time
	ttl               time.Duration
	err               error
}

var _ lock.Listener = (*listener)(nil)

// newListener has room for more than any test of the suite does.
func newListener() *listener {
	return &listener{began: make(chan string, 1000), renewals: make(chan renewal, 10_000)}
}

func (l *listener) Began(session string) { l.began <- session }

func (l *listener) Renewing(session string) func(time.Duration, error) {
	r := renewal{session: session, invoked: time.Now()}
	var once sync.Once
	return func(ttl time.Duration, err error) {
		called := false
		once.Do(func() { called = true })
		if !called {
			panic("a renewal was answered twice")
		}
		r.answered, r.ttl, r.err = time.Now(), ttl, err
		l.mu.Lock()
		if err == nil && r.invoked.After(l.last) {
			l.last = r.invoked
		}
		l.mu.Unlock()
		l.renewals <- r
	}
}

// lastPromise is the invocation of the newest renewal that was answered ok.
func (l *listener) lastPromise() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *listener) renewal(t *testing.T) renewal {
	t.Helper()
	select {
	case r := <-l.renewals:
		return r
	case <-time.After(limit):
		t.Fatal("no renewal in time")
		return renewal{}
	}
}
