package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

// mutex is concurrency.Mutex.
type mutex struct{ *concurrency.Mutex }

func newMutex(s *concurrency.Session, name string) recipe {
	return mutex{concurrency.NewMutex(s, name)}
}

func (m mutex) lock(ctx context.Context) error { return m.Lock(ctx) }

// granted reads the create revision, which the mutex does not show, off its own test
// for ownership. (The revision of Header is another number: that of the answer,
// which a waiter gets later than its place in the queue.)
func (m mutex) granted() (string, int64) {
	owner := m.IsOwner()
	return m.Key(), owner.GetCompare().GetCreateRevision()
}

func (m mutex) unlock(ctx context.Context) error {
	deleted := int64(0)
	err := m.Unlock(ours(ctx, func(reply any) {
		if r, ok := reply.(*pb.DeleteRangeResponse); ok {
			deleted = r.Deleted
		}
	}))
	switch {
	case errors.Is(err, concurrency.ErrLockReleased):
		return lock.Definite(histories.ErrLost, err)
	case err == nil && deleted == 0:
		return lock.Definite(histories.ErrLost, errors.New("release: the lock key was gone"))
	}
	return err
}
