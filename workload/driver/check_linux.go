package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leasehold-checker/leasehold/workload/child"
)

// Finding is a rule of the protocol, and how a driver breaks it ("": it does not).
type Finding struct {
	Rule    string
	Problem string
}

const (
	checkTTL   = 2 * time.Second
	checkLimit = 10 * time.Second // for one answer
)

// Check talks with two processes of a driver as a campaign would, and says of each rule
// of PROTOCOL.md whether it is kept. The error is that there was nobody to talk with.
func Check(ctx context.Context, starter *child.Starter, command string, endpoints []string) ([]Finding, error) {
	log, err := os.CreateTemp("", "leasehold-driver-*.log")
	if err != nil {
		return nil, fmt.Errorf("check driver: %w", err)
	}
	defer os.Remove(log.Name())
	defer log.Close()
	c := &conformance{ctx: ctx, prefix: fmt.Sprintf("leasehold-check-%d/", os.Getpid())}
	for _, name := range []string{"w1", "w2"} {
		p, err := start(ctx, starter, command, log.Name(), nil)
		if err != nil {
			return nil, err
		}
		defer func() {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*endLimit)
			defer cancel()
			_ = p.close(ending)
		}()
		c.drivers, c.names = append(c.drivers, p), append(c.names, name)
	}
	c.run(endpoints)
	if text, err := os.ReadFile(log.Name()); err == nil && len(text) > 0 && c.broken {
		c.findings = append(c.findings, Finding{Rule: "standard error, for your information: " + quote(string(text))})
	}
	return c.findings, nil
}

// conformance is a dialogue with two processes of one driver.
type conformance struct {
	ctx      context.Context
	drivers  []*client
	names    []string
	prefix   string
	findings []Finding
	broken   bool
}

// rule tries a rule, unless an earlier one that everything rests on was broken.
func (c *conformance) rule(text string, try func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(c.ctx, checkLimit)
	defer cancel()
	f := Finding{Rule: text}
	if err := try(ctx); err != nil {
		f.Problem, c.broken = err.Error(), true
	}
	c.findings = append(c.findings, f)
	return f.Problem == ""
}

func (c *conformance) run(endpoints []string) {
	first, second := c.drivers[0], c.drivers[1]
	var d Description
	ok := c.rule("describe says what the driver is", func(ctx context.Context) (err error) {
		if d, err = describe(ctx, first); err != nil {
			return err
		}
		_, err = describe(ctx, second)
		return err
	})
	ok = ok && c.rule("init connects", func(ctx context.Context) error {
		for i, p := range c.drivers {
			if err := initialize(ctx, p, Request{Worker: c.names[i], Endpoints: endpoints, Prefix: c.prefix}); err != nil {
				return err
			}
		}
		return nil
	})
	if !ok {
		return
	}
	key := c.prefix + "L1"
	var token int64
	ok = c.rule("acquire takes a free lock", func(ctx context.Context) error {
		a, err := c.acquire(ctx, first, key, 2*time.Second)
		if err == nil && !*a.OK {
			err = fmt.Errorf("it answers %q; the lock is free", a.Err)
		}
		if err == nil {
			token, err = checkToken(a, d)
		}
		return err
	})
	if !ok {
		return
	}
	c.rule("check tells that it is held", func(ctx context.Context) error { return heldIs(ctx, first, OpCheck, key, true) })
	if d.CanAsk {
		c.rule("ask tells that it is held", func(ctx context.Context) error { return heldIs(ctx, first, OpAsk, key, true) })
	}
	c.rule("another process is refused while it is held: err held, definite, within wait_ms", func(ctx context.Context) error {
		return c.refused(ctx, second, key)
	})
	c.rule("release gives it back", func(ctx context.Context) error { return ended(first.call(ctx, Request{Op: OpRelease, Key: key})) })
	c.rule("check tells that it is not held any more", func(ctx context.Context) error { return heldIs(ctx, first, OpCheck, key, false) })
	c.rule("a second release is no success", func(ctx context.Context) error {
		a, err := first.call(ctx, Request{Op: OpRelease, Key: key})
		if err == nil && *a.OK {
			err = errors.New(`it answers ok, and there was nothing to release: answer "ok": false, "err": "lost", "definite": true`)
		}
		return err
	})
	c.rule("another process takes it then, under a larger token if there are tokens", func(ctx context.Context) error {
		a, err := c.acquire(ctx, second, key, 3*time.Second)
		if err == nil && !*a.OK {
			err = fmt.Errorf("it answers %q; the lock is free", a.Err)
		}
		if err != nil {
			return err
		}
		next, err := checkToken(a, d)
		if err == nil && d.Tokens && next <= token {
			err = fmt.Errorf("the token was %d, and is %d after it: it has to grow from grant to grant", token, next)
		}
		return errors.Join(err, ended(second.call(ctx, Request{Op: OpRelease, Key: key})))
	})
	c.rule("an unknown operation is refused, not ignored: err not-supported", func(ctx context.Context) error {
		a, err := first.call(ctx, Request{Op: "sing"})
		if err == nil && *a.OK {
			err = errors.New("it answers ok to an operation that does not exist")
		}
		return err
	})
	c.rule("it stops and goes on with its process group", func(ctx context.Context) error {
		if err := first.halt(ctx); err != nil {
			return err
		}
		if err := first.resume(); err != nil {
			return err
		}
		return heldIs(ctx, first, OpCheck, key, false)
	})
	c.rule("shutdown is answered, and ends it", func(ctx context.Context) error {
		if err := ended(first.call(ctx, Request{Op: OpShutdown})); err != nil {
			return err
		}
		select {
		case <-first.over:
			return nil
		case <-ctx.Done():
			return errors.New("it still runs after its answer")
		}
	})
}

func (c *conformance) acquire(ctx context.Context, p *client, key string, wait time.Duration) (*Response, error) {
	return p.call(ctx, Request{Op: OpAcquire, Key: key, TTLMS: checkTTL.Milliseconds(), WaitMS: wait.Milliseconds()})
}

func (c *conformance) refused(ctx context.Context, p *client, key string) error {
	began := time.Now()
	a, err := c.acquire(ctx, p, key, 300*time.Millisecond)
	switch {
	case err != nil:
		return err
	case *a.OK:
		return errors.New("it is granted as well: the lock excludes nobody")
	case a.Err != "held" || !a.Definite:
		return fmt.Errorf(`it answers "err": %q, "definite": %t; say "held" and true if nothing of the request can still take the lock`, a.Err, a.Definite)
	case time.Since(began) > 300*time.Millisecond+2*time.Second:
		return fmt.Errorf("it waited for %s, and wait_ms was 300", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

func checkToken(a *Response, d Description) (int64, error) {
	token, has, err := a.token()
	switch {
	case err != nil:
		return 0, err
	case d.Tokens && !has:
		return 0, errors.New(`describe says "tokens": true, and the answer has none`)
	case !d.Tokens && has:
		return 0, errors.New(`the answer has a token, and describe does not say "tokens": true`)
	}
	return token, nil
}

func heldIs(ctx context.Context, p *client, op, key string, want bool) error {
	a, err := p.call(ctx, Request{Op: op, Key: key})
	switch {
	case err != nil:
		return err
	case !*a.OK:
		return fmt.Errorf(`it is not ok (%s); say "ok": true, "held": %t`, a.Err, want)
	case a.Held == nil:
		return fmt.Errorf(`it does not say "held": %t`, want)
	case *a.Held != want:
		return fmt.Errorf(`it says "held": %t`, *a.Held)
	}
	return nil
}

func ended(a *Response, err error) error {
	if err == nil && !*a.OK {
		err = fmt.Errorf("it answers %q: %s", a.Err, a.Text)
	}
	return err
}
