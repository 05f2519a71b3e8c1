//go:build linux

package locktest_test

import (
	"context"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/locktest"
)

// myLock stands for the client library of the lock that is to be tested.
type myLock struct{}

func (myLock) TryUntil(context.Context, string, time.Duration) (token int64, err error) {
	return 1, nil
}
func (myLock) Unlock(context.Context, string) error { return nil }

func newMyLock(_ context.Context, o locktest.Options) (lock, error) {
	var l myLock // connected to o.Endpoints
	return locktest.Simple(o, func(ctx context.Context, key string, ttl time.Duration) (*locktest.Hold, error) {
		token, err := l.TryUntil(ctx, key, ttl)
		if err != nil {
			return nil, err
		}
		return &locktest.Hold{Token: token, HasToken: true, Release: func(ctx context.Context) error { return l.Unlock(ctx, key) }}, nil
	}, nil), nil
}

// A test file for a lock has a TestMain that names it, and tests that run it.
func ExampleRun() {
	_ = func(m *testing.M) { // TestMain
		locktest.Main(m, locktest.Locks{"mine": newMyLock})
	}
	_ = func(t *testing.T) { // TestPausedHolder
		locktest.Run(t, locktest.Config{Lock: "mine", Endpoints: []string{"127.0.0.1:6379"}, Tokens: true})
	}
}
