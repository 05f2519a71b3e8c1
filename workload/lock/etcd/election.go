package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

var _ lock.Factory = NewElection

// NewElection connects as [New] does. The lock is concurrency.Election: a grant is a
// campaign that was won, a release a resignation, both with a session of its own.
//
// Unlike Mutex.Lock, Campaign does not look, after it has waited, whether its own
// key still exists. A candidate whose session ended in the queue (it was stopped, or
// cut off) is told that it won as soon as its predecessors are gone, beside the one
// who really did. Its Lost is closed at once.
func NewElection(ctx context.Context, o lock.Options) (lock.Lock, error) {
	return connect(ctx, o, newElection)
}

// election is concurrency.Election.
type election struct {
	*concurrency.Election
	value string
	ended bool // the store answered a resignation
}

func newElection(s *concurrency.Session, name string) recipe {
	return &election{Election: concurrency.NewElection(s, name), value: sessionName(s.Lease())}
}

// lock campaigns. If that is cancelled, Campaign resigns by itself; after any other
// error, or if the resignation gets no answer, the key stays in the queue
// (etcd-io/etcd#21128). Both are settled by the end of the lease.
func (e *election) lock(ctx context.Context) error { return e.Campaign(ctx, e.value) }

func (e *election) granted() (string, int64) { return e.Key(), e.Rev() }

// unlock resigns. Resign forgets its key even if the request got no answer, or was
// never sent, and says ok to every later call without asking the store
// (etcd-io/etcd#22123): its nil counts only together with an answer of the store.
func (e *election) unlock(ctx context.Context) error {
	answered, deleted := false, false
	err := e.Resign(ours(ctx, func(reply any) {
		if r, ok := reply.(*pb.TxnResponse); ok {
			answered, deleted = true, r.Succeeded
		}
	}))
	switch {
	case err != nil:
		return err
	case answered && deleted:
		e.ended = true
		return nil
	case answered || e.ended:
		e.ended = true
		return lock.Definite(histories.ErrLost, errors.New("release: the leader key was gone"))
	}
	return errors.New("resign: not sent: an earlier one got no answer")
}
