//go:build linux

package redis_test

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
)

// deaf is a listener that does not care.
type deaf struct{}

func (deaf) Began(string)                               {}
func (deaf) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

// A lease with a token, from a server that is there already.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := redis.NewCounter(ctx, lock.Options{Endpoints: []string{"127.0.0.1:6379"}, Prefix: "example/", Listener: deaf{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	held, err := l.Acquire(ctx, "L", 2*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	token, _ := held.Token()
	fmt.Println(token, held.TTL(), held.Held(), held.Release(ctx))
}

// A ttl is set in whole milliseconds.
func ExampleWholeMS() {
	fmt.Println(redis.WholeMS(1500 * time.Microsecond))
	// Output: 2ms <nil>
}
