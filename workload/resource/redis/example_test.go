//go:build linux

package redis_test

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/workload/resource/redis"
)

// The cells of a campaign share a server, and each has a prefix of its own.
func ExampleEndpoint() {
	fmt.Println(redis.Endpoint("127.0.0.1:6379", "cell7/"))
	// Output: 127.0.0.1:6379?prefix=cell7%2F
}
