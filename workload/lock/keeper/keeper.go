// Package keeper renews a lease of a lock whose caller must do so, as the users of
// such locks do: on a goroutine of its own, every third of the ttl, until it is
// released, lost, or the local validity has run out.
package keeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

// Config is a lease that was just granted.
type Config struct {
	Session  string        // as lock.Lease.Session names it
	TTL      time.Duration // effective
	Until    time.Time     // the end of the local validity, by this process's monotonic clock
	Listener lock.Listener
	// Renew sends one renewal and returns the new end of the local validity. Its
	// error is lock.Definite when the store said that the lease is gone.
	Renew func(ctx context.Context) (until time.Time, err error)
}

// Keeper is the goroutine and what it knows of the lease.
type Keeper struct {
	config Config
	cancel context.CancelFunc
	lost   chan struct{}

	mu    sync.Mutex
	until time.Time
	over  bool // lost or stopped
}

// Start begins to renew. The end of ctx stops that, and is no loss: it is the client
// that went away.
func Start(ctx context.Context, c Config) *Keeper {
	ctx, cancel := context.WithCancel(ctx)
	k := &Keeper{config: c, cancel: cancel, lost: make(chan struct{}), until: c.Until}
	go k.run(ctx)
	return k
}

// Held tells whether the local validity stands: neither lost, nor stopped, nor run out.
func (k *Keeper) Held() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.over && time.Now().Before(k.until)
}

// Lost is closed when a renewal was definitely refused or the local validity ran out.
func (k *Keeper) Lost() <-chan struct{} { return k.lost }

// Stop ends the renewals, before a release. One that is under way may still be
// answered; none is begun after it.
func (k *Keeper) Stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.cancel()
}

func (k *Keeper) run(ctx context.Context) {
	defer k.cancel()
	timer := time.NewTimer(k.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !k.renew(ctx) {
			return
		}
		timer.Reset(k.pause())
	}
}

// pause is the time to the next look: a third of the ttl, less if the validity ends
// before.
func (k *Keeper) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(k.config.TTL/3, time.Until(k.until))
}

// renew does one renewal. It returns false when there is nothing more to renew.
func (k *Keeper) renew(ctx context.Context) bool {
	answered, limit := k.begin(ctx)
	if answered == nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	until, err := k.config.Renew(limited)
	cancel()
	if err != nil {
		answered(0, err)
	} else {
		answered(k.config.TTL, nil)
	}
	return k.end(until, err)
}

// begin announces a renewal, unless the lease is over. A process that was stopped for
// longer than its validity finds that out here and does not renew: the key may still
// be there, but its user has no right to it any more.
func (k *Keeper) begin(ctx context.Context) (answered func(time.Duration, error), limit time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over || ctx.Err() != nil {
		return nil, 0
	}
	rest := time.Until(k.until)
	if rest <= 0 {
		k.lose()
		return nil, 0
	}
	return k.config.Listener.Renewing(k.config.Session), min(k.config.TTL/3, rest)
}

func (k *Keeper) end(until time.Time, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return false
	}
	if err == nil {
		k.until = until
		return true
	}
	// Without an answer the lease may have been renewed or not: the old validity stands.
	if _, definite := lock.IsDefinite(err); definite {
		k.lose()
		return false
	}
	return true
}

// lose needs mu.
func (k *Keeper) lose() {
	k.over = true
	close(k.lost)
}

// ErrNotHeld is the cause of a definite loss: the store holds nothing of ours.
var ErrNotHeld = errors.New("the lock is not ours")
