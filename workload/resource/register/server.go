package register

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/leasehold-checker/leasehold/histories"
)

// Server serves resources to clients.
type Server struct {
	table *table

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once the server ends
}

// NewServer returns a server. It fails if the config makes no sense.
func NewServer(config Config) (*Server, error) {
	switch config.Fence {
	case "", histories.FenceOff, histories.FenceWrites, histories.FenceAll:
	default:
		return nil, fmt.Errorf("make register: unknown fence %q", config.Fence)
	}
	return &Server{table: newTable(config), conns: make(map[net.Conn]struct{})}, nil
}

// Listen opens a free port on the loopback address.
func Listen() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for register clients: %w", err)
	}
	return l, nil
}

// Serve answers clients until ctx ends, which is no error. It closes l and every
// connection, and may be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() {
		l.Close()
		s.closeConns()
	})
	defer stop()
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer s.closeConns()
	defer l.Close()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept register client: %w", err)
		}
		if !s.add(conn) {
			continue
		}
		handlers.Go(func() { s.handle(conn) })
	}
}

func (s *Server) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		conn.Close()
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

// handle answers one client until it goes away or says something that is no
// request: there is nothing to answer to that.
func (s *Server) handle(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	var frame, out []byte
	for {
		var err error
		if frame, err = readFrame(in, frame); err != nil {
			return
		}
		req, err := parseRequest(frame)
		if err != nil {
			return
		}
		out = appendAnswer(out[:0], s.table.apply(&req))
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}
