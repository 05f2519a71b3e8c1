package redis

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
)

// wire sees the bytes between a go-redis client and its server, because go-redis has no
// hook between the request that was sent and the answer that is awaited.
//
// That time is when the client begins to read after it wrote the request: go-redis
// flushes its buffer before it reads, and only then, so that at this read every byte of
// the request, however long, has been handed to the kernel. Requests of the handshake,
// on a connection that is dialled within the operation, are told apart by their first
// bytes. There is one request in flight, so that there is no doubt whose it is.
type wire struct {
	mu   sync.Mutex
	open map[*conn]bool
	sent func() // nil: nobody asks, or it was called
}

// evalHead begins the one kind of request that is watched: an array, whose first
// element is "eval".
var evalHead = []byte("\r\n$4\r\neval\r\n")

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// over is the dialer whose connections are watched.
func (w *wire) over(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		inner, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		c := &conn{Conn: inner, wire: w}
		if w.open == nil {
			w.open = map[*conn]bool{}
		}
		w.open[c] = true
		return c, nil
	}
}

// watch has sent called once, when the next operation's request was sent, and returns
// what ends the watch.
func (w *wire) watch(sent func()) (end func()) {
	w.set(sent)
	return func() { w.set(nil) }
}

func (w *wire) set(sent func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = sent
}

// take hands out the function, once.
func (w *wire) take() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// hangUp breaks the connections: whoever waits on one returns. (There may be more than
// one: go-redis finishes a dial that nobody waits for any more.)
func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		c.Conn.Close()
	}
}

func (w *wire) forget(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
}

// conn is one connection. go-redis writes and reads it from one goroutine at a time.
type conn struct {
	net.Conn
	wire *wire
	eval bool // an operation was written and its answer not yet begun to be read
}

// SyscallConn is how go-redis sees, before a request, that an idle connection has ended.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	inner, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return inner.SyscallConn()
}

func (c *conn) Close() error {
	c.wire.forget(c)
	return c.Conn.Close()
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if head := b[:min(n, 32)]; err == nil && len(head) > 0 && head[0] == '*' && bytes.Contains(head, evalHead) {
		c.eval = true
	}
	return n, err
}

func (c *conn) Read(b []byte) (int, error) {
	if c.eval {
		c.eval = false
		if sent := c.wire.take(); sent != nil {
			sent()
		}
	}
	return c.Conn.Read(b)
}
