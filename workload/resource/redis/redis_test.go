//go:build linux

package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/resource/conformance"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	address := servers(t)[0]
	conformance.Run(t, conformance.Suite{
		Start: func(t *testing.T, fence histories.Fence) string {
			initial := map[string]string{}
			for _, name := range conformance.Names() {
				initial[name] = conformance.Initial
			}
			return prepared(t, address, resource.ServerOptions{Fence: fence, Initial: initial})
		},
		Dial:            Dial,
		Numbers:         true,
		NumbersRefusals: true,
	})
}

// prepared returns the endpoint of a prefix of the test's own.
func prepared(t *testing.T, address string, o resource.ServerOptions) string {
	t.Helper()
	endpoint := Endpoint(address, fresh(t))
	if err := Prepare(t.Context(), endpoint, o); err != nil {
		t.Fatal(err)
	}
	return endpoint
}

func dialled(t *testing.T, endpoint string) *Client {
	t.Helper()
	r, err := Dial(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r.(*Client)
}

// Tokens are compared as whole 64-bit numbers: every one below the next, and none below
// itself. Through a double 2^53 and 2^53+1 are equal.
func TestTokensAreExact(t *testing.T) {
	t.Parallel()
	const large = int64(1) << 53
	tokens := []int64{
		math.MinInt64, math.MinInt64 + 1, -large - 1, -large, -1_000_000_000_000_001, -1_000_000_000_000_000,
		-10, -9, -1, 0, 1, 9, 10, 11, 100, 999_999_999_999_999, 1_000_000_000_000_000, 1_000_000_000_000_001,
		large - 1, large, large + 1, large + 2, math.MaxInt64 - 1, math.MaxInt64,
	}
	r := dialled(t, prepared(t, servers(t)[0], resource.ServerOptions{Fence: histories.FenceWrites}))
	for i, high := range tokens {
		for j, low := range tokens[:i+1] {
			name := fmt.Sprintf("%d %d", i, j)
			if _, err := r.Write(t.Context(), name, histories.Some(high), ""); err != nil {
				t.Fatal(err)
			}
			_, err := r.Write(t.Context(), name, histories.Some(low), "")
			refused, ok := resource.AsRefused(err)
			if ok != (low < high) || !ok && err != nil {
				t.Fatalf("%d after %d: %v", low, high, err)
			}
			if ok && refused.Highest != high {
				t.Fatalf("highest %d, want %d", refused.Highest, high)
			}
		}
	}
}

// A server that lost its data has lost the fence mode, too. It lets nothing through.
func TestForgottenFence(t *testing.T) {
	t.Parallel()
	r := dialled(t, Endpoint(servers(t)[0], fresh(t)))
	_, err := r.Write(t.Context(), "R", histories.Some(int64(1)), "v")
	if _, refused := resource.AsRefused(err); err == nil || refused {
		t.Fatalf("unprepared: %v", err)
	}
}

func TestPrepareTwice(t *testing.T) {
	t.Parallel()
	endpoint := prepared(t, servers(t)[0], resource.ServerOptions{})
	if err := Prepare(t.Context(), endpoint, resource.ServerOptions{}); err == nil {
		t.Fatal("a used prefix is not fresh")
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "cell7/", "a b?&=ü%"} {
		address, got, err := parseEndpoint(Endpoint("127.0.0.1:6379", prefix))
		if address != "127.0.0.1:6379" || got != prefix || err != nil {
			t.Errorf("%q: %q, %q, %v", prefix, address, got, err)
		}
	}
	for _, bad := range []string{"", "host", "127.0.0.1:6379?prefix=%", "127.0.0.1:6379?prefixx=a", "redis://127.0.0.1:6379"} {
		if _, _, err := parseEndpoint(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// server is a listener that speaks as much of Redis as the client needs to send, and
// answers an operation when it is told to.
func server(t *testing.T) (endpoint string, got chan string, answers chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got, answers = make(chan string, 1000), make(chan string)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c, got, answers)
		}
	}()
	return Endpoint(l.Addr().String(), ""), got, answers
}

// accepted is the answer to a write, with the commit number 7.
const accepted = "*3\r\n$8\r\naccepted\r\n$1\r\n7\r\n$0\r\n\r\n"

func serve(c net.Conn, got, answers chan string) {
	defer c.Close()
	buffer, text := make([]byte, 1<<20), ""
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		text += string(buffer[:n])
		switch {
		case strings.Contains(strings.ToLower(text), "hello"):
			io.WriteString(c, "-ERR unknown command\r\n")
		case strings.Contains(strings.ToLower(text), "\r\nping\r\n"):
			io.WriteString(c, "+PONG\r\n")
		case strings.HasSuffix(text, "end\r\n"):
			got <- text
			io.WriteString(c, <-answers)
		default:
			continue // there is more to come
		}
		text = ""
	}
}

// The point "sent" is passed when the whole request, however long, is on its way, and
// before there is an answer.
func TestSent(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, 32 << 10, 300_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			endpoint, got, answers := server(t)
			r := dialled(t, endpoint)
			var points []histories.Point
			ctx := point.With(t.Context(), func(p histories.Point) {
				<-got // the server has all of it
				points = append(points, p)
				answers <- accepted
			})
			a, err := r.Write(ctx, "R", histories.Some(int64(1)), strings.Repeat("x", size)+"end")
			if err != nil || a.Seq != histories.Some(int64(7)) {
				t.Fatalf("%v, %v", a, err)
			}
			if !slices.Equal(points, []histories.Point{histories.PointSent}) {
				t.Fatalf("points %v", points)
			}
		})
	}
}

// A call without an answer returns when its context ends, by cancel or by deadline, and
// is not sent again; the next one works.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	endpoint, got, answers := server(t)
	r := dialled(t, endpoint)
	sent := 0
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.Write(point.With(ctx, func(histories.Point) { sent++; cancel() }), "R", histories.Some(int64(1)), "end")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	late, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	_, err = r.Write(point.With(late, func(histories.Point) { sent++ }), "R", histories.Some(int64(1)), "end")
	// The connection's deadline, which is the context's, may be noticed first.
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("late: %v", err)
	}
	for range sent {
		<-got
		go func() { answers <- accepted }() // to nobody
	}
	go func() { answers <- accepted }()
	if _, err := r.Write(t.Context(), "R", histories.Some(int64(1)), "end"); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%d requests, too many", len(got))
	}
}

func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	endpoint, got, answers := server(t)
	r := dialled(t, endpoint)
	for _, answer := range []string{
		"*2\r\n$8\r\naccepted\r\n$1\r\n7\r\n",
		"*3\r\n$8\r\naccepted\r\n$1\r\nx\r\n$0\r\n\r\n",
		"*3\r\n$7\r\nrefused\r\n$1\r\n7\r\n$1\r\nx\r\n",
		"-ERR no\r\n",
	} {
		go func() { answers <- answer }()
		_, err := r.Write(t.Context(), "R", histories.Some(int64(1)), "end")
		if _, refused := resource.AsRefused(err); err == nil || refused {
			t.Errorf("%q: %v", answer, err)
		}
		<-got
	}
}
