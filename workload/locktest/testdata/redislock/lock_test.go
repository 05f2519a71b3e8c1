package redislock

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/locktest"
)

func TestMain(m *testing.M) {
	locktest.Main(m, locktest.Locks{"right": driver(New), "careless": driver(NewCareless)})
}

// driver lets leasehold's workers take the lock.
func driver(connect func(endpoint string) *Lock) locktest.New {
	return func(_ context.Context, o locktest.Options) (lock.Lock, error) {
		l := connect(o.Endpoints[0])
		return locktest.Simple(o, func(ctx context.Context, key string, ttl time.Duration) (*locktest.Hold, error) {
			lease, err := l.Acquire(ctx, key, ttl)
			if err != nil {
				return nil, err
			}
			return &locktest.Hold{Token: lease.Token, HasToken: true, Release: func(ctx context.Context) error {
				err := lease.Release(ctx)
				if errors.Is(err, ErrGone) {
					return locktest.Gone(err)
				}
				return err
			}}, nil
		}, l.Close), nil
	}
}

// endpoint is where a Redis is that the tests may use.
func endpoint(t *testing.T) string {
	address := os.Getenv("REDIS")
	if address == "" {
		t.Fatal("REDIS does not say where a Redis is")
	}
	return address
}

// TestRight passes: a paused holder does harm without a fence, and none with it.
func TestRight(t *testing.T) {
	locktest.Run(t, locktest.Config{Lock: "right", Endpoints: []string{endpoint(t)}, Tokens: true, Late: 300 * time.Millisecond})
}

// TestCareless fails, fence or no fence: the log tells of the token that went back.
func TestCareless(t *testing.T) {
	locktest.Run(t, locktest.Config{Lock: "careless", Endpoints: []string{endpoint(t)}, Tokens: true, Late: 300 * time.Millisecond})
}
