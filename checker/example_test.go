package checker_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// Three lines check a history.
func Example() {
	history, err := histories.ParseText(strings.NewReader(demo), "demo.hist")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := checker.Check(context.Background(), history, checker.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict)
	for _, s := range result.Property(checker.StaleWrite).Witnesses[0].Story {
		fmt.Println(s.Text)
	}
	// Output:
	// invalid
	// Worker 1 was granted the lock L1 under token 33 (lease of 2 s) at 0.002 s.
	// It read a0 and checked that it still held the lock; then it was stopped at 0.500 s (code point checked).
	// Its lease ran out: the store ended it at 2.602 s. The store did the right thing.
	// Worker 2 had been waiting, and was granted token 34 at 2.610 s.
	// It wrote b1; the resource took it as number 1.
	// Worker 1 went on at 4.000 s after 3.500 s, still believing that it held the lock, and wrote a1 under token 33: accepted as number 2.
	// Worker 1 then read a1; b1 is gone: an acknowledged update is lost.
}
