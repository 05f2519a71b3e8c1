package exact_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// B has the lock after A, and writes beside it. That A's write came last, and was
// stale, is known because its value was there when both were done.
func ExampleSolver() {
	h, err := histories.ParseText(strings.NewReader(`
0..1   A acquire L -> ok token=1
2..3   B acquire L -> ok token=2
10..20 A write R a -> ok
11..20 B write R b -> ok
21..22 C read R -> ok value=a
23..24 B write R c -> ok
`), "example.hist")
	if err != nil {
		fmt.Println(err)
		return
	}
	book, err := model.Resolve(h)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range book.Resources() {
		d := exact.NewSolver(r).Decide(context.Background(), model.Question{Values: true, Grants: true})
		fmt.Println(r.Name, d.Answer)
		for _, at := range r.Places(d.Core) {
			fmt.Println(histories.FormatOperation(&h.Ops[at]))
		}
	}
	// Output:
	// R illegal
	// 10..20 A write R a -> ok
	// 11..20 B write R b -> ok
	// 21..22 C read R -> ok value=a
}
