package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"

	"github.com/leasehold-checker/leasehold/workload/lock"
)

func keyValue(key string) *mvccpb.KeyValue { return &mvccpb.KeyValue{Key: []byte(key)} }

// script is a stream whose answers are given.
type script struct {
	grpc.ClientStream
	log     *[]string
	answers []any // *pb.LeaseKeepAliveResponse or error
	sendErr error
}

func (s *script) SendMsg(m any) error {
	*s.log = append(*s.log, fmt.Sprintf("send %d", m.(*pb.LeaseKeepAliveRequest).ID))
	return s.sendErr
}

func (s *script) RecvMsg(m any) error {
	next := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := next.(error); ok {
		return err
	}
	resp := next.(*pb.LeaseKeepAliveResponse)
	m.(*pb.LeaseKeepAliveResponse).ID, m.(*pb.LeaseKeepAliveResponse).TTL = resp.ID, resp.TTL
	return nil
}

// diary writes down what the listener is told, with a number for each renewal.
type diary struct {
	log *[]string
	n   int
}

func (*diary) Began(string) {}

func (d *diary) Renewing(session string) func(time.Duration, error) {
	d.n++
	n := d.n
	*d.log = append(*d.log, fmt.Sprintf("%d renewing %s", n, session))
	return func(ttl time.Duration, err error) {
		text := fmt.Sprintf("%d answered %v", n, ttl)
		if word, definite := lock.IsDefinite(err); definite {
			text = fmt.Sprintf("%d %s", n, word)
		} else if err != nil {
			text = fmt.Sprintf("%d %v", n, err)
		}
		*d.log = append(*d.log, text)
	}
}

func answer(id, ttl int64) *pb.LeaseKeepAliveResponse {
	return &pb.LeaseKeepAliveResponse{ID: id, TTL: ttl}
}

func TestRenewalsAreMatched(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name    string
		sends   []int64 // leases, before any answer
		answers []any
		after   []int64 // leases, after the answers
		sendErr error
		want    []string
	}{
		{
			// The listener is told before a byte is sent.
			name: "one", sends: []int64{0xab}, answers: []any{answer(0xab, 2)},
			want: []string{"1 renewing ab", "send 171", "1 answered 2s"},
		}, {
			// The client sent again after 500 ms: an answer belongs to the oldest.
			name: "sent again", sends: []int64{1, 1}, answers: []any{answer(1, 2), answer(1, 3)},
			want: []string{"1 renewing 1", "send 1", "2 renewing 1", "send 1", "1 answered 2s", "2 answered 3s"},
		}, {
			// Each lease has its own queue.
			name: "two leases", sends: []int64{1, 2}, answers: []any{answer(2, 2), answer(1, 3)},
			want: []string{"1 renewing 1", "send 1", "2 renewing 2", "send 2", "2 answered 2s", "1 answered 3s"},
		}, {
			// No time to live left: the store says that there is no such lease.
			name: "lost", sends: []int64{1}, answers: []any{answer(1, 0)},
			want: []string{"1 renewing 1", "send 1", "1 lost"},
		}, {
			// The stream breaks: all may have happened, and so may what is sent after.
			name: "stream ends", sends: []int64{1, 1}, answers: []any{answer(1, 2), broken}, after: []int64{1},
			want: []string{"1 renewing 1", "send 1", "2 renewing 1", "send 1", "1 answered 2s",
				"2 renew: broken", "3 renewing 1", "send 1", "3 renew: broken"},
		}, {
			// The send fails: it may have left.
			name: "send fails", sends: []int64{1}, sendErr: io.EOF,
			want: []string{"1 renewing 1", "send 1", "1 renew: EOF"},
		}, {
			// An answer that nobody asked for is nobody's.
			name: "unasked", answers: []any{answer(1, 2)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log []string
			open := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				return &script{log: &log, answers: c.answers, sendErr: c.sendErr}, nil
			}
			r := renewals{listener: &diary{log: &log}}
			stream, err := r.intercept(t.Context(), nil, nil, pb.Lease_LeaseKeepAlive_FullMethodName, open)
			if err != nil {
				t.Fatal(err)
			}
			send := func(leases []int64) {
				for _, id := range leases {
					if err := stream.SendMsg(&pb.LeaseKeepAliveRequest{ID: id}); !errors.Is(err, c.sendErr) {
						t.Fatal(err)
					}
				}
			}
			send(c.sends)
			for range c.answers {
				stream.RecvMsg(&pb.LeaseKeepAliveResponse{})
			}
			send(c.after)
			if !slices.Equal(log, c.want) {
				t.Fatalf("got  %q\nwant %q", log, c.want)
			}
		})
	}
}

func TestOtherStreamsPass(t *testing.T) {
	t.Parallel()
	watch := &script{}
	open := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return watch, nil
	}
	stream, err := renewals{}.intercept(t.Context(), nil, nil, pb.Watch_Watch_FullMethodName, open)
	if err != nil || stream != grpc.ClientStream(watch) {
		t.Fatalf("%v, %v", stream, err)
	}
}
