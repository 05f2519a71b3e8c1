package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// renewals reports to a listener the keepalives that the client sends on its own.
type renewals struct{ listener lock.Listener }

// intercept looks into the keepalive stream and lets every other stream pass.
func (r renewals) intercept(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, conn, method, options...)
	if err != nil || method != pb.Lease_LeaseKeepAlive_FullMethodName {
		return stream, err
	}
	return &keepalives{ClientStream: stream, listener: r.listener, waiting: make(map[int64][]answered)}, nil
}

type answered func(ttl time.Duration, err error)

// keepalives is one keepalive stream. It carries the renewals of all leases of the
// client.
//
// An answer names its lease, not its request, and the client sends again every
// 500 ms while no answer comes. The answer is taken for one to the oldest request
// without an answer. That is what the server does: it answers the requests of a
// stream one by one, in order. And were it ever wrong, it would be wrong to the
// safe side: the promise would count from an invocation that is too early, and a
// shorter promise accuses nobody.
type keepalives struct {
	grpc.ClientStream
	listener lock.Listener

	mu      sync.Mutex
	waiting map[int64][]answered // by lease, oldest first
	ended   error                // why no more answers come
}

// SendMsg reports the renewal before a byte of it is sent.
func (k *keepalives) SendMsg(m any) error {
	req, ok := m.(*pb.LeaseKeepAliveRequest)
	if !ok {
		return k.ClientStream.SendMsg(m)
	}
	done := k.listener.Renewing(sessionName(clientv3.LeaseID(req.ID)))
	k.mu.Lock()
	ended := k.ended
	if ended == nil {
		k.waiting[req.ID] = append(k.waiting[req.ID], done)
	}
	k.mu.Unlock()
	err := k.ClientStream.SendMsg(m)
	switch {
	case ended != nil:
		done(0, fmt.Errorf("renew: %w", ended))
	case err != nil:
		k.end(err) // gRPC: the stream is done for
	}
	return err
}

// RecvMsg reports the answer, or that no more come.
func (k *keepalives) RecvMsg(m any) error {
	if err := k.ClientStream.RecvMsg(m); err != nil {
		k.end(err)
		return err
	}
	if resp, ok := m.(*pb.LeaseKeepAliveResponse); ok {
		k.answer(resp)
	}
	return nil
}

func (k *keepalives) answer(resp *pb.LeaseKeepAliveResponse) {
	k.mu.Lock()
	queue := k.waiting[resp.ID]
	if len(queue) == 0 {
		k.mu.Unlock()
		return
	}
	done := queue[0]
	if len(queue) > 1 {
		k.waiting[resp.ID] = queue[1:]
	} else {
		delete(k.waiting, resp.ID)
	}
	k.mu.Unlock()
	if resp.TTL <= 0 {
		done(0, lock.Definite(histories.ErrLost, errors.New("renew: the lease is gone")))
		return
	}
	done(time.Duration(resp.TTL)*time.Second, nil)
}

// end tells all who wait that no answer will come. Their renewals may have happened.
func (k *keepalives) end(err error) {
	k.mu.Lock()
	waiting := k.waiting
	k.waiting = make(map[int64][]answered)
	k.ended = err
	k.mu.Unlock()
	for _, queue := range waiting {
		for _, done := range queue {
			done(0, fmt.Errorf("renew: %w", err))
		}
	}
}
