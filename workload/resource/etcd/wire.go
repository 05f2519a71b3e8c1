package etcd

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// wire tells when a request has left. gRPC sends from a goroutine of its own and has
// no word for it, so the connection is looked at: the key that the request names, and
// nothing else does, went by. The kernel has then all of the request up to there, and
// the value as well unless it is too long for one flush of gRPC's buffer (32 KB).
// Under TLS it is not seen; the answer then serves as the sign.
type wire struct {
	dialer net.Dialer

	mu      sync.Mutex
	mark    []byte // nil: nobody waits
	carried chan struct{}
}

// watch returns a channel that is closed when the mark has gone by. forget ends it.
func (w *wire) watch(mark []byte) (carried <-chan struct{}, forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark, w.carried = mark, make(chan struct{})
	return w.carried, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mark = nil
	}
}

func (w *wire) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := w.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, wire: w}, nil
}

// watchedConn is one connection. Only one goroutine at a time writes to it.
type watchedConn struct {
	net.Conn
	wire *wire
	tail []byte // the end of the write before, where a mark may begin
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil {
		c.tail = c.wire.look(append(c.tail, b...))
	}
	return n, err
}

// look looks for the mark, and returns what a mark may begin with.
func (w *wire) look(text []byte) (tail []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mark == nil {
		return nil
	}
	if bytes.Contains(text, w.mark) {
		w.mark = nil
		close(w.carried)
		return nil
	}
	return bytes.Clone(text[max(0, len(text)-len(w.mark)+1):])
}
