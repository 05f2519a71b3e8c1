package resource_test

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// A refusal is a definite no: the stale write did not happen.
func ExampleAsRefused() {
	err := fmt.Errorf("write R: %w", &resource.Refused{Seq: histories.Some(int64(7)), Highest: 34})
	if refused, ok := resource.AsRefused(err); ok {
		fmt.Println(refused, "as number", refused.Seq.Or(0))
	}
	// Output: fenced: the resource has seen token 34 as number 7
}
