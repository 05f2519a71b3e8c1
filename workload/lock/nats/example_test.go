//go:build linux

package nats_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/nats"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

// deaf is a listener that does not care.
type deaf struct{}

func (deaf) Began(string)                               {}
func (deaf) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

// Two leases, one after the other: the second has the larger token.
func Example() {
	if err := twoLeases(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2s true
	// true
}

func twoLeases(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "nats")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := embedded.StartNATS(ctx, child.NewStarter(), filepath.Join(dir, "data"), filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	defer s.Stop(ctx)

	l, err := nats.New(ctx, lock.Options{Endpoints: s.Endpoints(), Prefix: "example/", Listener: deaf{}})
	if err != nil {
		return err
	}
	defer l.Close()
	first, err := l.Acquire(ctx, "L", 2*time.Second)
	if err != nil {
		return err
	}
	fmt.Println(first.TTL(), first.Held())
	if err := first.Release(ctx); err != nil {
		return err
	}
	second, err := l.Acquire(ctx, "L", 2*time.Second)
	if err != nil {
		return err
	}
	a, _ := first.Token()
	b, _ := second.Token()
	fmt.Println(b > a)
	return second.Release(ctx)
}
