// Package redis is a protected resource in a Redis server: for each resource name a
// hash with the value, the highest token and the commit number, and one Lua script for
// every operation, which Redis runs as one atomic step. Every operation, accepted or
// refused, takes the next commit number.
//
// The server is one that the campaign brings up, for the lock or for this. [Prepare]
// writes the fence mode and the first values of a cell under its prefix; [Endpoint]
// puts the address and the prefix into the one string that [Dial] takes:
// "127.0.0.1:6379?prefix=cell7%2F".
//
// The fence is as durable as the data is: a server that comes back without its last
// writes has forgotten them and the highest token alike. One that has lost everything
// no longer knows the fence mode; then every operation is an error, and none is let
// through unfenced.
//
// Retries, redials and deadlines of the go-redis client are off: see the Options of
// the lock of the same name.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock/redis"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Endpoint is the string for [Dial] and [Prepare]: a server's "host:port", and the
// prefix of all keys.
func Endpoint(address, prefix string) string {
	return address + "?" + url.Values{"prefix": {prefix}}.Encode()
}

func parseEndpoint(endpoint string) (address, prefix string, err error) {
	address, query, _ := strings.Cut(endpoint, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", "", fmt.Errorf("parse endpoint %s: %w", endpoint, err)
	}
	for key := range values {
		if key != "prefix" {
			return "", "", fmt.Errorf("parse endpoint %s: unknown key %q", endpoint, key)
		}
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", "", fmt.Errorf("parse endpoint %s: %w", endpoint, err)
	}
	return address, values.Get("prefix"), nil
}

func fenceKey(prefix string) string          { return prefix + "fence" }
func resourceKey(prefix, name string) string { return prefix + "resource/" + name }

// Prepare writes the fence mode and the initial values at the endpoint. The prefix must
// be fresh: a second Prepare is an error.
func Prepare(ctx context.Context, endpoint string, o resource.ServerOptions) error {
	address, prefix, err := parseEndpoint(endpoint)
	if err != nil {
		return err
	}
	client, err := redis.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("prepare redis resource: %w", err)
	}
	defer client.Close()
	fence := o.Fence
	if fence == "" {
		fence = histories.FenceOff
	}
	fresh, err := client.SetNX(ctx, fenceKey(prefix), string(fence), 0).Result()
	if err == nil && !fresh {
		err = errors.New("the prefix is not fresh")
	}
	if err != nil {
		return fmt.Errorf("prepare redis resource: %w", err)
	}
	for name, value := range o.Initial {
		if err := client.HSet(ctx, resourceKey(prefix, name), "value", value).Err(); err != nil {
			return fmt.Errorf("prepare redis resource %s: %w", name, err)
		}
	}
	return nil
}

// Client is a client of the resources below one prefix. It has one request in flight;
// calls from several goroutines wait for each other.
type Client struct {
	client *goredis.Client
	prefix string
	slot   chan struct{} // one element: the right to do a request
	wire   *wire
}

var _ resource.Resource = (*Client)(nil)
var _ resource.Factory = Dial

// Dial connects to the endpoint.
func Dial(ctx context.Context, endpoint string) (resource.Resource, error) {
	address, prefix, err := parseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{prefix: prefix, slot: make(chan struct{}, 1), wire: &wire{}}
	options := redis.Options(address)
	options.Dialer = c.wire.over(options.Dialer)
	c.client = goredis.NewClient(options)
	limited, cancel := context.WithTimeout(ctx, options.DialTimeout)
	defer cancel()
	if err := c.client.Ping(limited).Err(); err != nil {
		c.client.Close()
		return nil, fmt.Errorf("dial redis resource at %s: %w", address, err)
	}
	c.slot <- struct{}{}
	return c, nil
}

// Close closes the connections.
func (c *Client) Close() error {
	if err := c.client.Close(); err != nil {
		return fmt.Errorf("close redis resource: %w", err)
	}
	return nil
}

// Open announces a token.
func (c *Client) Open(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	return c.do(ctx, "open", name, token, "")
}

// Read returns the value.
func (c *Client) Read(ctx context.Context, name string, token resource.Token) (resource.Answer, error) {
	return c.do(ctx, "read", name, token, "")
}

// Write replaces the value.
func (c *Client) Write(ctx context.Context, name string, token resource.Token, value string) (resource.Answer, error) {
	return c.do(ctx, "write", name, token, value)
}
