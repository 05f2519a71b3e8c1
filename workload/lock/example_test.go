package lock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

// An adapter marks what the store said no to. Everything else may have happened.
func ExampleDefinite() {
	held := lock.Definite("held", errors.New("by session 4f"))
	word, ok := lock.IsDefinite(fmt.Errorf("acquire L: %w", held))
	fmt.Println(word, ok)

	_, ok = lock.IsDefinite(context.DeadlineExceeded)
	fmt.Println(ok)
	// Output:
	// held true
	// false
}

// An acquire that was given up while its request was on its way is unsettled: its
// caller ends whatever may be left of it.
func ExampleUnsettled() {
	var err error = &lock.Unsettled{
		Err:    context.Canceled,
		Settle: func(context.Context) error { return nil }, // revokes the lease
	}
	var open *lock.Unsettled
	if errors.As(err, &open) {
		fmt.Println(err, open.Settle(context.Background()))
	}
	// Output: acquire unsettled: context canceled <nil>
}
