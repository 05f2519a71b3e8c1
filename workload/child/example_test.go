//go:build linux

package child_test

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/workload/child"
)

// main, or TestMain as here, asks child.Role first and runs the body of that role
// in child.Serve. The parent starts its own executable again.
func Example() {
	ctx := context.Background()
	p, err := child.NewStarter().Start(ctx, child.Spec{Role: "echo", Config: config{Word: "hello"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(<-p.Events()))
	if err := p.Send("a command"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(string(<-p.Events()))
	fmt.Println(p.Close(ctx))
	// Output:
	// "hello"
	// "a command"
	// <nil>
}
