package register_test

import (
	"context"
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
)

// An old holder writes after its successor: the fence refuses it.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := register.NewServer(register.Config{Fence: histories.FenceAll})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := register.Listen()
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(ctx, l)

	r, err := register.Dial(ctx, l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	a, err := r.Write(ctx, "R", histories.Some(int64(34)), "b1")
	fmt.Println(a.Seq.Or(0), err)
	_, err = r.Write(ctx, "R", histories.Some(int64(33)), "a1")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// fenced: the resource has seen token 34
}
