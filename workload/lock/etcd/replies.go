package etcd

import (
	"context"

	"google.golang.org/grpc"
)

type replyKey struct{}

// ours marks a request as made on the worker's behalf and bounded by its context.
// see, if not nil, is called with its reply before the library gets it.
func ours(ctx context.Context, see func(reply any)) context.Context {
	return context.WithValue(ctx, replyKey{}, see)
}

// watchReplies shows the replies to our requests, and bounds those that the library
// makes on its own account: Mutex.Lock, when cancelled, deletes its key with the
// client's own context, and would not return while the server is stopped.
func watchReplies(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	see, marked := ctx.Value(replyKey{}).(func(any))
	if !marked {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tidyLimit)
		defer cancel()
	}
	if err := invoke(ctx, method, req, reply, conn, options...); err != nil {
		return err
	}
	if see != nil {
		see(reply)
	}
	return nil
}
