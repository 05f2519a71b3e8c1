package zookeeper

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/lock/conformance"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// leastTTL is that of the servers in the containers, whose tick is 500 ms.
const leastTTL = time.Second

func servers(t *testing.T, topology store.Topology) []string {
	t.Helper()
	return containertest.Start(t, "zookeeper", topology).Endpoints()
}

// killSession ends a session as an operator would who knows only its id: the server
// makes the password out of the id and a constant, with Java's Random.
func killSession(ctx context.Context, servers []string, session string) error {
	id, err := strconv.ParseUint(strings.TrimPrefix(session, "0x"), 16, 64)
	if err != nil {
		return err
	}
	g := granted{id: int64(id), timeout: leastTTL}
	const mask, secret = 1<<48 - 1, 0xB3415C00
	state := (id ^ secret ^ 0x5DEECE66D) & mask
	for i := 0; i < passwordSize; i += 4 {
		state = (state*0x5DEECE66D + 0xB) & mask
		word := uint32(state >> 16)
		g.password[i], g.password[i+1], g.password[i+2], g.password[i+3] = byte(word), byte(word>>8), byte(word>>16), byte(word>>24)
	}
	// The client may take its session back before it is closed.
	for {
		if err := endSession(ctx, servers, g); err == nil || errors.Is(err, errGone) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, topology := range []store.Topology{"1", "3"} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel()
			endpoints := servers(t, topology)
			for name, c := range map[string]struct {
				connect lock.Factory
				tokens  bool
			}{"recipe": {NewRecipe, true}, "lock": {NewLock, false}} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					conformance.Run(t, conformance.Suite{
						New:       c.connect,
						Endpoints: endpoints,
						End:       func(ctx context.Context, session string) error { return killSession(ctx, endpoints, session) },
						TTL:       3 * leastTTL, // on a busy machine the shortest is not kept alive
						Tokens:    c.tokens, Tells: true,
					})
				})
			}
		})
	}
}

type quiet struct{}

func (quiet) Began(string)                               {}
func (quiet) Renewing(string) func(time.Duration, error) { return func(time.Duration, error) {} }

func newLock(t *testing.T, connect lock.Factory, endpoints []string) *Lock {
	t.Helper()
	l, err := connect(t.Context(), lock.Options{Endpoints: endpoints, Prefix: t.Name() + "/", Listener: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*Lock)
}

func acquire(t *testing.T, l *Lock) *lease {
	t.Helper()
	held, err := l.Acquire(t.Context(), "L", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return held.(*lease)
}

func gone(t *testing.T, what string, err error) {
	t.Helper()
	if word, definite := lock.IsDefinite(err); !definite || word != histories.ErrLost {
		t.Errorf("%s: %v", what, err)
	}
}

// The ttl is what was negotiated, and what can't be negotiated is refused.
func TestTTL(t *testing.T) {
	t.Parallel()
	l := newLock(t, NewRecipe, servers(t, "1"))
	for _, c := range []struct{ asked, negotiated time.Duration }{
		{time.Nanosecond, leastTTL},
		{5 * time.Second, 5 * time.Second},
		{5*time.Second + time.Nanosecond, 5001 * time.Millisecond},
	} {
		held, err := l.Acquire(t.Context(), "L", c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if held.TTL() != c.negotiated {
			t.Errorf("asked for %v, got %v, want %v", c.asked, held.TTL(), c.negotiated)
		}
		held.Release(t.Context())
	}
	for _, ttl := range []time.Duration{0, -1, 1 << 62} {
		_, err := l.Acquire(t.Context(), "L", ttl)
		if word, definite := lock.IsDefinite(err); !definite || word != errRefused {
			t.Errorf("ttl of %v: %v", ttl, err)
		}
	}
	for _, name := range []string{"", "a/b", ".", "a\x00"} {
		_, err := l.Acquire(t.Context(), name, time.Second)
		if word, definite := lock.IsDefinite(err); !definite || word != errRefused {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

// The token is when the node was made, and stays in order if the parent is made again,
// when the numbers in the names begin anew.
func TestTokenOutlivesItsParent(t *testing.T) {
	t.Parallel()
	l := newLock(t, NewRecipe, servers(t, "1"))
	last := int64(-1)
	for range 3 {
		held := acquire(t, l)
		q := held.recipe.(*queue)
		_, stat, err := l.asker.Get(q.dir + "/" + q.own)
		if err != nil {
			t.Fatal(err)
		}
		token, _ := held.Token()
		if token != stat.Czxid || token <= last {
			t.Errorf("token %d after %d, czxid %d", token, last, stat.Czxid)
		}
		if n, err := number(q.own); n != 0 || err != nil {
			t.Errorf("node %s", q.own)
		}
		last = token
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.asker.Delete(q.dir, -1); err != nil {
			t.Fatal(err)
		}
	}
}

// proxy passes bytes on to a server, until it is told to swallow those of the clients,
// or of the server.
type proxy struct {
	net.Listener
	server      string
	swallow     atomic.Bool // what clients send
	silence     atomic.Bool // what the server sends
	connections atomic.Int32
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, server: server}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.connections.Add(1)
			go p.serve(conn)
		}
	}()
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer client.Close()
		pass(client, server, &p.silence)
	}()
	pass(server, client, &p.swallow)
}

func pass(to, from net.Conn, swallow *atomic.Bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if swallow.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A delete is done and not answered, and then the session is gone: that there is
// nothing to release is no definite no, because it was this release that let others in.
func TestDeleteWithoutAnswer(t *testing.T) {
	t.Parallel()
	server := servers(t, "1")[0]
	p := newProxy(t, server)
	l := newLock(t, NewRecipe, []string{p.Addr().String()})
	held := acquire(t, l)
	q := held.recipe.(*queue)
	p.silence.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	released := make(chan error, 1)
	go func() { released <- held.Release(ctx) }()
	outside := newLock(t, NewRecipe, []string{server})
	for there := true; there; {
		var err error
		if there, _, err = outside.asker.Exists(q.dir + "/" + q.own); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	err := <-released
	if _, definite := lock.IsDefinite(err); definite || !errors.Is(err, context.Canceled) {
		t.Errorf("release: %v", err)
	}
	if err := killSession(t.Context(), []string{server}, held.Session()); err != nil {
		t.Fatal(err)
	}
	p.silence.Store(false)
	err = held.Release(t.Context())
	if _, definite := lock.IsDefinite(err); definite || !errors.Is(err, errGone) {
		t.Errorf("second release: %v", err)
	}
}

// A create is done and not answered: the node is in the queue until the attempt is
// settled, which ends the session.
func TestCreateWithoutAnswer(t *testing.T) {
	t.Parallel()
	server := servers(t, "1")[0]
	for name, connect := range map[string]lock.Factory{"recipe": NewRecipe, "lock": NewLock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, server)
			outside := newLock(t, connect, []string{server})
			if err := acquire(t, outside).Release(t.Context()); err != nil { // makes the parents
				t.Fatal(err)
			}
			l := newLock(t, connect, []string{p.Addr().String()})
			l.listener = muting{began: func() { p.silence.Store(true) }}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := l.Acquire(ctx, "L", 10*time.Second)
				ended <- err
			}()
			dir := "/" + outside.prefix + "L"
			nodes := func() []string {
				t.Helper()
				names, _, err := outside.asker.Children(dir)
				if err != nil {
					t.Fatal(err)
				}
				return names
			}
			for len(nodes()) == 0 {
			}
			cancel()
			var unsettled *lock.Unsettled
			if err := <-ended; !errors.As(err, &unsettled) || !errors.Is(err, context.Canceled) {
				t.Fatalf("not unsettled: %v", err)
			}
			if len(nodes()) != 1 {
				t.Error("the ghost has gone by itself")
			}
			p.silence.Store(false)
			if err := unsettled.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := nodes(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			gone(t, "second settle", unsettled.Settle(t.Context()))
		})
	}
}

type muting struct {
	quiet
	began func()
}

func (m muting) Began(string) { m.began() }

// The session expires while the client is cut off. It is told when it reaches the
// server again, and gets no new session.
func TestCutOff(t *testing.T) {
	t.Parallel()
	server := servers(t, "1")[0]
	p := newProxy(t, server)
	held, err := newLock(t, NewRecipe, []string{p.Addr().String()}).Acquire(t.Context(), "L", leastTTL)
	if err != nil {
		t.Fatal(err)
	}
	p.swallow.Store(true)
	next := acquire(t, newLock(t, NewRecipe, []string{server}))
	select {
	case <-held.Lost():
		t.Error("told while it was cut off")
	default:
	}
	p.swallow.Store(false)
	<-held.Lost()
	if held.Held() {
		t.Error("held, though the loss was told")
	}
	dialled := p.connections.Load()
	gone(t, "release", held.Release(t.Context()))
	if holds, err := next.Ask(t.Context()); err != nil || !holds {
		t.Errorf("the next holder: %t, %v", holds, err)
	}
	// One more connection: that of the release, which asks for the session.
	if n := p.connections.Load(); n > dialled+1 {
		t.Errorf("%d connections after the loss", n-dialled)
	}
}

// A waiter's session ends: a definite loss, whatever the library would do next.
func TestWaiterWhoseSessionEnds(t *testing.T) {
	t.Parallel()
	endpoints := servers(t, "1")
	for name, connect := range map[string]lock.Factory{"recipe": NewRecipe, "lock": NewLock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := acquire(t, newLock(t, connect, endpoints))
			l := newLock(t, connect, endpoints)
			began := make(chan string, 1)
			l.listener = announcing{began: began}
			ended := make(chan error, 1)
			go func() {
				_, err := l.Acquire(t.Context(), "L", 10*time.Second)
				ended <- err
			}()
			if err := killSession(t.Context(), endpoints, <-began); err != nil {
				t.Fatal(err)
			}
			err := <-ended
			var unsettled *lock.Unsettled
			if errors.As(err, &unsettled) { // the connection broke, and the reason was not known yet
				err = unsettled.Settle(t.Context())
			}
			gone(t, "acquire", err)
			if err := held.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

type announcing struct {
	quiet
	began chan string
}

func (a announcing) Began(session string) { a.began <- session }

func TestNext(t *testing.T) {
	t.Parallel()
	const a, b, c = "_c_0f-lock-0000000002", "_c_03-lock-0000000010", "_c_0a-lock-0000000011"
	for _, test := range []struct {
		names []string
		own   string
		want  string
		err   error
	}{
		// The order is that of the numbers, not of the names, nor of the answer.
		{[]string{c, a, b}, a, "", nil},
		{[]string{c, a, b}, b, a, nil},
		{[]string{c, a, b}, c, b, nil},
		// The own node is not there any more: not granted, though nobody is in front.
		{[]string{b, c}, a, "", errGone},
		{nil, a, "", errGone},
	} {
		before, err := next(test.names, test.own)
		if before != test.want || !errors.Is(err, test.err) {
			t.Errorf("%v in %v: %q, %v", test.own, test.names, before, err)
		}
	}
	if _, err := next([]string{a, "stranger"}, a); err == nil {
		t.Error("a node without a number was taken for a lock node")
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	endpoints := servers(t, "1")
	l := newLock(t, NewRecipe, endpoints)
	acquire(t, l)
	for prefix, empty := range map[string]bool{
		t.Name() + "/": false, t.Name() + "/L": false, t.Name(): false, t.Name() + "/M": true, "none/": true, "none/none": true,
	} {
		if err := Empty(t.Context(), endpoints, prefix); (err == nil) != empty {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestWatchSeesTheEndOfGrants(t *testing.T) {
	t.Parallel()
	endpoints := servers(t, "1")
	holder := newLock(t, NewRecipe, endpoints)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, done, ready := make(chan Ended, 100), make(chan error, 1), make(chan struct{})
	go func() {
		done <- Watch(ctx, endpoints, t.Name()+"/", func() { close(ready) }, func(e Ended) { seen <- e })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	var leases []*lease
	for range 2 { // one after the other runs out
		held, err := holder.Acquire(t.Context(), "L", 2*leastTTL)
		if err != nil {
			t.Fatal(err)
		}
		left := held.(*lease)
		left.session.shutDown()
		leases = append(leases, left)
	}
	var want, got []Ended
	for _, held := range leases {
		token, _ := held.Token()
		want = append(want, Ended{Name: "L", Session: held.Session(), Token: token})
		got = append(got, <-seen)
	}
	if !slices.Equal(got, want) {
		t.Errorf("saw  %+v\nwant %+v", got, want)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestNoStore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	// Nothing listens on port 1.
	_, err := NewRecipe(ctx, lock.Options{Endpoints: []string{"127.0.0.1:1"}, Prefix: "p/", Listener: quiet{}})
	if err == nil {
		t.Fatal("connected")
	}
}
