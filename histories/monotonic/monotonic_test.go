package monotonic_test

import (
	"fmt"
	"testing"

	"github.com/leasehold-checker/leasehold/histories/monotonic"
)

func TestNowNeverRunsBackwards(t *testing.T) {
	last := monotonic.Now()
	for range 100_000 {
		now := monotonic.Now()
		if now < last {
			t.Fatalf("%d after %d", now, last)
		}
		last = now
	}
}

func TestNamespaceIsStable(t *testing.T) {
	a, err := monotonic.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := monotonic.Namespace(); a != b {
		t.Fatalf("%q, then %q", a, b)
	}
}

func ExampleNow() {
	began := monotonic.Now()
	fmt.Println(monotonic.Now()-began >= 0)
	// Output: true
}
