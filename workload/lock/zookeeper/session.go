package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// session is one session and the client that keeps it alive.
type session struct {
	servers []string
	conn    *zk.Conn
	began   chan struct{} // closed when the server has granted it
	expired chan struct{} // closed when the server has told that it is no more
	dropped chan struct{} // closed when we have given it up

	mu       sync.Mutex
	granted  granted
	shut     bool // nothing is sent any more, nor dialled
	sockets  []net.Conn
	isOver   sync.Once
	hasBegun sync.Once
	dropping sync.Once
}

// granted is the server's answer to a client that asks for a session. The library
// keeps all but the id to itself.
type granted struct {
	id       int64
	password [passwordSize]byte
	timeout  time.Duration
}

func newSession(servers []string, timeout time.Duration) (*session, error) {
	s := &session{servers: servers, began: make(chan struct{}), expired: make(chan struct{}), dropped: make(chan struct{})}
	var err error
	// The channel of events, which users read, is fed by the same calls as the callback,
	// but drops events when it is full.
	s.conn, _, err = zk.Connect(servers, timeout, zk.WithDialer(s.dial), zk.WithEventCallback(s.event),
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	return s, err
}

func (s *session) event(e zk.Event) {
	switch e.State {
	case zk.StateHasSession:
		if e.Type == zk.EventSession {
			s.hasBegun.Do(func() { close(s.began) })
		}
	case zk.StateExpired:
		s.isOver.Do(func() { close(s.expired) })
		s.shutDown() // or the library would begin a new session
	}
}

func (s *session) awaitBegin(ctx context.Context) error {
	select {
	case <-s.began:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) hasExpired() bool {
	select {
	case <-s.expired:
		return true
	default:
		return false
	}
}

func (s *session) answer() granted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted
}

// name is the session as the server's log has it.
func (s *session) name() string { return sessionName(s.answer().id) }

func sessionName(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// shutDown breaks the connection for good, and sends nothing: the session runs out.
func (s *session) shutDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	for _, socket := range s.sockets {
		socket.Close()
	}
	s.sockets = nil
}

func (s *session) isShut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut
}

// drop gives the client up, and sends nothing: the session runs out. What waits for an
// answer fails.
func (s *session) drop() {
	s.shutDown()
	s.dropping.Do(func() {
		close(s.dropped)
		go s.conn.Close() // it waits a second for an answer
	})
}

// close closes the session as users do, and waits for the answer (which the library
// keeps to itself) for a second at most.
func (s *session) close(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.conn.Close()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.drop()
}

var errShut = errors.New("the session was given up")

// dial connects for the library, and looks at the first answer.
func (s *session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	if s.isShut() {
		return nil, errShut
	}
	socket, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		socket.Close()
		return nil, errShut
	}
	s.sockets = append(s.sockets[:0], socket) // the one before is closed: the library has one
	return &firstAnswer{Conn: socket, session: s}, nil
}

// firstAnswer reads the answer to the request for a session on its way to the library.
// One goroutine at a time reads.
type firstAnswer struct {
	net.Conn
	session *session
	head    []byte
	done    bool
}

// Read reads.
func (f *firstAnswer) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if f.done {
		return n, err
	}
	f.head = append(f.head, p[:n]...)
	if len(f.head) >= answerSize {
		f.done = true
		f.session.see(f.head[:answerSize])
		f.head = nil
	}
	return n, err
}

// see keeps the first answer. Later ones, on other connections, are about the same
// session, or tell of its end.
func (s *session) see(answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.granted.id == 0 {
		s.granted = parseAnswer(answer)
	}
}

// parseAnswer reads: length, protocol version, timeout in ms, id, length of the
// password, password.
func parseAnswer(b []byte) granted {
	g := granted{
		timeout: time.Duration(binary.BigEndian.Uint32(b[8:])) * time.Millisecond,
		id:      int64(binary.BigEndian.Uint64(b[12:])),
	}
	copy(g.password[:], b[24:])
	return g
}
