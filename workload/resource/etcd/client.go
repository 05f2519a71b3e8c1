package etcd

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Client is a client of one space. It has one request in flight; calls from several
// goroutines wait for each other.
type Client struct {
	client *clientv3.Client
	wire   *wire
	space  string
	fence  histories.Fence
	slot   chan struct{} // one element: the right to send
}

var _ resource.Resource = (*Client)(nil)
var _ resource.Factory = Dial

// Dial connects to a space that was prepared, within five seconds.
func Dial(ctx context.Context, endpoint string) (resource.Resource, error) {
	store, space, err := split(endpoint)
	if err != nil {
		return nil, fmt.Errorf("dial etcd resource: %w", err)
	}
	c := &Client{wire: &wire{}, space: space, slot: make(chan struct{}, 1)}
	if c.client, err = connect(store, grpc.WithContextDialer(c.wire.dial)); err != nil {
		return nil, fmt.Errorf("dial etcd resource: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer, err := c.client.Get(ctx, fenceKey(space))
	if err == nil && len(answer.Kvs) == 0 {
		err = errors.New("it was not prepared")
	}
	if err != nil {
		c.client.Close()
		return nil, fmt.Errorf("dial etcd resource: space %s: %w", space, err)
	}
	c.fence = histories.Fence(answer.Kvs[0].Value)
	c.slot <- struct{}{}
	return c, nil
}

// Close closes the client.
func (c *Client) Close() error {
	if err := c.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close etcd client: %w", err)
	}
	return nil
}

// Open announces a token.
func (c *Client) Open(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	a, err := c.do(ctx, "open", name, c.look(name, token), nil)
	a.Value = ""
	return a, err
}

// Read returns the value.
func (c *Client) Read(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	return c.do(ctx, "read", name, c.look(name, token), nil)
}

// Write replaces the value. The point "sent" is reached when the connection has
// carried the request's key (see wire), in this goroutine.
func (c *Client) Write(ctx context.Context, name string, token resource.Token, value string) (resource.Answer, error) {
	key, holds := resource.Key(ctx)
	if !holds || c.fence == histories.FenceOff {
		key = ""
	}
	return c.do(ctx, "write", name, c.replace(name, token, value, key), func() { point.Reach(ctx, histories.PointSent) })
}

// do does one transaction.
func (c *Client) do(ctx context.Context, verb, name string, p plan, sent func()) (resource.Answer, error) {
	var a resource.Answer
	answer, err := c.send(ctx, name, p.op, sent)
	if err == nil {
		a, err = p.read(answer)
	}
	if _, refused := resource.AsRefused(err); err != nil && !refused {
		err = fmt.Errorf("%s etcd resource %s: %w", verb, name, err)
	}
	return a, err
}

// send sends one request, and calls sent, if not nil, once it has left.
func (c *Client) send(ctx context.Context, name string, op clientv3.Op, sent func()) (*pb.TxnResponse, error) {
	select {
	case <-c.slot:
		defer func() { c.slot <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	commit := func() (*pb.TxnResponse, error) {
		r, err := c.client.Do(ctx, op)
		if err != nil {
			return nil, err
		}
		return (*pb.TxnResponse)(r.Txn()), nil
	}
	if sent == nil {
		return commit()
	}
	carried, forget := c.wire.watch([]byte(valueKey(c.space, name)))
	defer forget()
	var answer *pb.TxnResponse
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = commit()
	}()
	select {
	case <-carried:
		sent()
		<-done
	case <-done:
		if err == nil {
			sent() // an answer came: it was sent
		}
	}
	return answer, err
}
