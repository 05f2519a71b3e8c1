//go:build linux

package register_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/resource/conformance"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
)

func TestMain(m *testing.M) {
	if child.Role() != register.Role {
		os.Exit(m.Run())
	}
	if err := child.Serve(register.ServeChild); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// startChild starts a register in a process of its own.
func startChild(t testing.TB, config register.Config) *register.Process {
	t.Helper()
	p, err := register.Start(context.Background(), child.NewStarter(), resource.ServerOptions{Dir: t.TempDir(), Fence: config.Fence, Initial: config.Initial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(context.Background()) })
	return p.(*register.Process)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, conformance.Suite{
		Start: func(t *testing.T, fence histories.Fence) string {
			config := register.Config{Fence: fence, Initial: map[string]string{}}
			for _, name := range conformance.Names() {
				config.Initial[name] = conformance.Initial
			}
			return startChild(t, config).Endpoint()
		},
		Dial:    register.Dial,
		Numbers: true, NumbersRefusals: true,
	})
}

func TestUnknownFenceIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := register.NewServer(register.Config{Fence: "reads"}); err == nil {
		t.Fatal("made")
	}
	_, err := register.Start(t.Context(), child.NewStarter(), resource.ServerOptions{Dir: t.TempDir(), Fence: "reads"})
	if !errors.Is(err, child.ErrEnded) {
		t.Fatal(err)
	}
}

// A server that says no word is told from one that answers: the request is given
// up with its connection, is not sent again, and the next one dials anew.
func TestGivenUpRequestIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	l, err := register.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	c, err := register.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := <-accepted
	defer first.Close()

	ctx, cancel := context.WithCancel(t.Context())
	ctx = point.With(ctx, func(histories.Point) { cancel() })
	if _, err := c.Write(ctx, "R", histories.Some(int64(1)), "given up"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(first); err != nil || len(text) == 0 {
		t.Fatalf("the first connection carried %q, %v", text, err)
	}

	server, err := register.NewServer(register.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	defer stop()
	go server.Serve(serving, &single{accepted: accepted, Listener: l})
	a, err := c.Read(t.Context(), "R", resource.Token{})
	if err != nil || a.Value != "" || a.Seq.Or(0) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
}

// single hands out connections that somebody else accepted.
type single struct {
	net.Listener
	accepted chan net.Conn
}

func (s *single) Accept() (net.Conn, error) {
	conn, ok := <-s.accepted
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Whoever speaks another language is hung up on; others are served as before.
func TestNonsenseIsHungUpOn(t *testing.T) {
	t.Parallel()
	endpoint := startChild(t, register.Config{}).Endpoint()
	for name, text := range map[string]string{
		"HTTP":           "GET / HTTP/1.1\r\n\r\n",
		"too long":       "\xff\xff\xff\xff",
		"too short":      "\x01\x00\x00\x00r",
		"unknown":        "\x0c\x00\x00\x00x\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"name too short": "\x0c\x00\x00\x00r\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", endpoint)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(30 * time.Second))
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			var timeout net.Error
			if b, err := bufio.NewReader(conn).ReadByte(); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatalf("%q, %v", b, err)
			}
			c, err := register.Dial(t.Context(), endpoint)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Read(t.Context(), "R", resource.Token{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTooLongARequest(t *testing.T) {
	t.Parallel()
	c, err := register.Dial(t.Context(), startChild(t, register.Config{}).Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(t.Context(), "R", resource.Token{}, string(make([]byte, 2<<20))); err == nil {
		t.Fatal("sent")
	}
	if _, err := c.Read(t.Context(), "R", resource.Token{}); err != nil {
		t.Fatal(err)
	}
}

func TestDeadServer(t *testing.T) {
	t.Parallel()
	p := startChild(t, register.Config{})
	c, err := register.Dial(t.Context(), p.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := c.Write(t.Context(), "R", histories.Some(int64(1)), "x")
		if _, refused := resource.AsRefused(err); err == nil || refused {
			t.Fatalf("write to a dead server: %v", err)
		}
	}
}
