package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leasehold-checker/leasehold/workload/child"
)

// Description is what a driver says of itself.
type Description struct {
	Driver   string        // name/version
	Store    string        // the lock store that it wants; "" or "none": none
	Tokens   bool          // it issues fencing tokens
	CanAsk   bool          // it can ask the store whether a lease still holds
	LeastTTL time.Duration // no shorter lease is granted
	Late     time.Duration // so much later than the ttl others may have to wait for the lock
}

// Describe starts the driver, asks it what it is, and ends it.
func Describe(ctx context.Context, starter *child.Starter, command string) (Description, error) {
	ctx, cancel := context.WithTimeout(ctx, initLimit)
	defer cancel()
	log, err := os.CreateTemp("", "leasehold-driver-*.log")
	if err != nil {
		return Description{}, fmt.Errorf("describe driver: %w", err)
	}
	defer os.Remove(log.Name())
	defer log.Close()
	c, err := start(ctx, starter, command, log.Name(), nil)
	if err != nil {
		return Description{}, err
	}
	d, err := describe(ctx, c)
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 4*endLimit)
	defer stop()
	err = errors.Join(err, c.close(ending))
	if text, e := os.ReadFile(log.Name()); err != nil && e == nil && len(text) > 0 {
		err = fmt.Errorf("%w; it wrote on standard error: %s", err, quote(string(text)))
	}
	return d, err
}

func describe(ctx context.Context, c *client) (Description, error) {
	a, err := c.call(ctx, Request{Op: OpDescribe, Protocol: Version})
	switch {
	case err != nil:
		return Description{}, err
	case !*a.OK:
		return Description{}, fmt.Errorf("driver: describe failed: %s: %s", a.Err, a.Text)
	case a.Protocol != Version:
		return Description{}, faultf(`the answer to describe says "protocol": %d, and has to be %d`, a.Protocol, Version)
	case a.Driver == "":
		return Description{}, faultf(`the answer to describe does not name the driver: "driver": "name/version"`)
	}
	return Description{
		Driver: a.Driver, Store: a.Store, Tokens: a.Tokens, CanAsk: a.CanAsk,
		LeastTTL: time.Duration(a.LeastTTLMS) * time.Millisecond, Late: time.Duration(a.LateMS) * time.Millisecond,
	}, nil
}
