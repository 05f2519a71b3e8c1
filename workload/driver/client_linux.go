package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/leasehold-checker/leasehold/workload/child"
)

// maxEvents is how many events a driver may tell between two answers.
const maxEvents = 1000

// shown is how much of a bad line is shown, in runes.
const shown = 200

// Fault is what a driver did wrong: a sentence for its author. Nothing that the driver
// was asked for since has a definite answer.
type Fault struct{ text string }

func (f *Fault) Error() string { return "driver: " + f.text }

func faultf(format string, args ...any) *Fault { return &Fault{fmt.Errorf(format, args...).Error()} }

// client speaks with one driver, through its keeper.
type client struct {
	keeper *child.Process
	event  func(*Response) error // is told what the driver tells on its own

	mu      sync.Mutex
	next    int64
	open    map[int64]chan *Response
	events  int // since the last answer
	fault   error
	ending  bool
	halted  chan struct{} // closed when the group has stopped; nil unless that was asked for
	over    chan struct{} // closed with the first fault, and when the driver has ended
	overOne sync.Once
}

// start starts a driver. event may be nil.
func start(ctx context.Context, starter *child.Starter, command, log string, event func(*Response) error) (*client, error) {
	p, err := starter.Start(ctx, child.Spec{Role: Role, Name: "driver", Config: keeperConfig{Command: command}, Log: log})
	if err != nil {
		return nil, err
	}
	c := &client{keeper: p, event: event, open: map[int64]chan *Response{}, over: make(chan struct{})}
	go c.follow()
	return c, nil
}

func (c *client) follow() {
	for raw := range c.keeper.Events() {
		var e keeperEvent
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		switch e.What {
		case "line":
			c.line(e.Text)
		case "halted":
			c.mu.Lock()
			if c.halted != nil {
				close(c.halted)
				c.halted = nil
			}
			c.mu.Unlock()
		case "ended", "bad":
			c.fail(faultf("%s", e.Text))
		}
	}
	c.fail(faultf("its keeper has ended"))
}

// line takes a line of the driver.
func (c *client) line(text string) {
	r, err := parse([]byte(text))
	if err != nil {
		c.fail(faultf("the line %s: %w", quote(text), err))
		return
	}
	if r.Event != "" {
		c.told(text, r)
		return
	}
	c.mu.Lock()
	waiting := c.open[*r.ID]
	delete(c.open, *r.ID)
	next := c.next
	c.events = 0
	c.mu.Unlock()
	switch {
	case waiting != nil:
		waiting <- r
	case *r.ID < 1 || *r.ID > next:
		c.fail(faultf("the line %s answers a request that was never made: the last one was %d", quote(text), next))
	default:
		c.fail(faultf("the line %s answers request %d, which has its answer already", quote(text), *r.ID))
	}
}

func (c *client) told(text string, r *Response) {
	c.mu.Lock()
	c.events++
	many := c.events > maxEvents
	c.mu.Unlock()
	if many {
		c.fail(faultf("more than %d events without an answer between them, the last one %s", maxEvents, quote(text)))
		return
	}
	if c.event == nil {
		return
	}
	if err := c.event(r); err != nil {
		c.fail(faultf("the line %s: %w", quote(text), err))
	}
}

// fail ends the dialogue: what follows a fault can't be understood.
func (c *client) fail(err error) {
	c.mu.Lock()
	if c.fault == nil {
		c.fault = err
	}
	quiet := c.ending
	c.mu.Unlock()
	c.overOne.Do(func() { close(c.over) })
	if !quiet {
		_ = c.keeper.Send(keeperCommand{Do: "end"})
	}
}

// failed is the first fault, nil if there is none.
func (c *client) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return nil
	}
	return c.fault
}

// pending is a request that was sent.
type pending struct {
	c      *client
	op     string
	answer chan *Response
}

// send sends a request.
func (c *client) send(r Request) (*pending, error) {
	c.mu.Lock()
	if c.fault != nil {
		defer c.mu.Unlock()
		return nil, c.fault
	}
	c.next++
	r.ID = c.next
	p := &pending{c: c, op: r.Op, answer: make(chan *Response, 1)}
	c.open[r.ID] = p.answer
	c.mu.Unlock()
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if err := c.keeper.Send(keeperCommand{Do: "send", Line: string(text)}); err != nil {
		return nil, err
	}
	return p, nil
}

// wait returns the answer. Without one in time the request has no definite end.
func (p *pending) wait(ctx context.Context) (*Response, error) {
	select {
	case r := <-p.answer:
		return r, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("driver: no answer to %s in time: %w", p.op, ctx.Err())
	case <-p.c.over:
	}
	select { // it may have been the last that it said
	case r := <-p.answer:
		return r, nil
	default:
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	return nil, p.c.fault
}

// call sends a request and waits for its answer.
func (c *client) call(ctx context.Context, r Request) (*Response, error) {
	p, err := c.send(r)
	if err != nil {
		return nil, err
	}
	return p.wait(ctx)
}

// halt stops the driver's process group, and returns when every thread of it is stopped.
func (c *client) halt(ctx context.Context) error {
	stopped := make(chan struct{})
	c.mu.Lock()
	c.halted = stopped
	c.mu.Unlock()
	if err := c.keeper.Send(keeperCommand{Do: "halt"}); err != nil {
		return err
	}
	select {
	case <-stopped:
		return nil
	case <-c.over:
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("stop driver: %w", c.fault)
	case <-ctx.Done():
		return fmt.Errorf("stop driver: %w", ctx.Err())
	}
}

func (c *client) resume() error { return c.keeper.Send(keeperCommand{Do: "resume"}) }

// close asks the driver to end, and makes sure that it does.
func (c *client) close(ctx context.Context) error {
	c.mu.Lock()
	c.ending = true
	healthy := c.fault == nil
	c.mu.Unlock()
	if healthy {
		if p, err := c.send(Request{Op: OpShutdown}); err == nil {
			short, cancel := context.WithTimeout(ctx, endLimit)
			_, _ = p.wait(short)
			cancel()
		}
	}
	_ = c.keeper.Send(keeperCommand{Do: "end"})
	err := c.keeper.Close(ctx)
	if errors.Is(err, child.ErrEnded) {
		return nil
	}
	return err
}

func quote(text string) string {
	if r := []rune(text); len(r) > shown {
		text = string(r[:shown]) + "..."
	}
	return fmt.Sprintf("%q", text)
}
