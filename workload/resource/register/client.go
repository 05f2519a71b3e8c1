package register

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Client is a client of a register server. It has one request in flight; calls
// from several goroutines wait for each other. A request whose answer does not
// come is given up together with its connection, so that a late answer cannot be
// taken for another request's; it is never sent again.
type Client struct {
	endpoint string
	slot     chan struct{} // one element: the right to use what follows
	conn     net.Conn      // nil: dial first
	in       *bufio.Reader
	out      []byte
	frame    []byte
}

var _ resource.Resource = (*Client)(nil)
var _ resource.Factory = Dial

// Dial connects to the server at the endpoint, "host:port".
func Dial(ctx context.Context, endpoint string) (resource.Resource, error) {
	c := &Client{endpoint: endpoint, slot: make(chan struct{}, 1)}
	if err := c.dial(ctx); err != nil {
		return nil, err
	}
	c.slot <- struct{}{}
	return c, nil
}

func (c *Client) dial(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", c.endpoint)
	if err != nil {
		return fmt.Errorf("dial register: %w", err)
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	return nil
}

// Open announces a token.
func (c *Client) Open(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	return c.do(ctx, "open", &request{op: opOpen, token: token, name: []byte(name)})
}

// Read returns the value.
func (c *Client) Read(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	return c.do(ctx, "read", &request{op: opRead, token: token, name: []byte(name)})
}

// Write replaces the value.
func (c *Client) Write(ctx context.Context, name string, token resource.Token, value string) (resource.Answer, error) {
	return c.do(ctx, "write", &request{op: opWrite, token: token, name: []byte(name), value: []byte(value)})
}

// Close closes the connection. A later operation dials anew.
func (c *Client) Close() error {
	<-c.slot
	defer func() { c.slot <- struct{}{} }()
	c.hangUp()
	return nil
}

func (c *Client) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

func (c *Client) do(ctx context.Context, verb string, req *request) (resource.Answer, error) {
	select {
	case <-c.slot:
		defer func() { c.slot <- struct{}{} }()
	case <-ctx.Done():
		return resource.Answer{}, fmt.Errorf("%s register %s: %w", verb, req.name, ctx.Err())
	}
	a, err := c.roundTrip(ctx, req)
	if err != nil {
		c.hangUp()
		return resource.Answer{}, fmt.Errorf("%s register %s: %w", verb, req.name, because(ctx, err))
	}
	if a.refused {
		return resource.Answer{}, &resource.Refused{Seq: histories.Some(a.seq), Highest: a.highest}
	}
	return resource.Answer{Value: a.value, Seq: histories.Some(a.seq)}, nil
}

// because prefers the context's reason to what it looks like on the connection.
func because(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return err
}

func (c *Client) roundTrip(ctx context.Context, req *request) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	out, err := appendRequest(c.out[:0], req)
	if err != nil {
		return answer{}, err
	}
	c.out = out
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return answer{}, err
		}
	}
	// The end of ctx breaks the connection: whatever waits on it returns. Should it
	// come just after the answer, the answer counts and the connection goes.
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	a, err := c.exchange(ctx, req)
	if !stop() && err == nil {
		c.hangUp()
	}
	return a, err
}

func (c *Client) exchange(ctx context.Context, req *request) (answer, error) {
	if _, err := c.conn.Write(c.out); err != nil {
		return answer{}, err
	}
	if req.op == opWrite {
		point.Reach(ctx, histories.PointSent)
	}
	frame, err := readFrame(c.in, c.frame)
	c.frame = frame
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(frame)
}
