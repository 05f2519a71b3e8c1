package postgres_test

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/postgres"
)

// deaf is a listener that does not care.
type deaf struct{}

func (deaf) Began(string)                               {}
func (deaf) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

// A lease on a row; it needs a server. The token is the row's epoch.
func ExampleNewRow() {
	ctx := context.Background()
	l, err := postgres.NewRow(ctx, lock.Options{
		Endpoints: []string{"postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"},
		Prefix:    "example/", Listener: deaf{},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	lease, err := l.Acquire(ctx, "L", time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _ := lease.Token()
	fmt.Println(token, lease.TTL(), lease.Held())
	fmt.Println(lease.Release(ctx))
}
