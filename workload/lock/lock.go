// Package lock is what a worker needs of a lock: [Lock] and [Lease], the errors
// by which a definite no is told from "it may have happened", and [Listener], to
// which an adapter reports what its client library does on its own.
//
// One package below this one adapts one client library, each used as its own
// documentation shows, with its own retries switched off.
package lock

import (
	"context"
	"time"
)

// Lock is a client library, or a recipe on one, through which a worker takes leases.
type Lock interface {
	// Acquire blocks until the lock is granted or ctx ends. It returns a plain or
	// [Definite] error only when nothing of the attempt can still take the lock;
	// where that is not certain, an [Unsettled] one. An adapter calls point.Reach
	// with histories.PointLocked once the lock is granted, before it draws the token.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error)

	// Close gives up the client's connections. It releases nothing.
	Close() error
}

// Lease is one hold of a lock, as its holder sees it. All methods may be called
// from several goroutines.
type Lease interface {
	// Token is the fencing token, false if the lock issues none. It costs no round trip.
	Token() (int64, bool)
	// TTL is the effective time to live: what the store returned or negotiated,
	// not what was asked for. 0: the lease does not run out by time.
	TTL() time.Duration
	// Session names what the store ties the lease to, as the store's own lines
	// name it: an etcd lease, a ZooKeeper or Consul session. "" if there is none.
	Session() string
	// Held is the client library's own opinion, from its clock and what it was
	// told. It does not ask the store.
	Held() bool
	// Ask asks the store whether the lease still holds the lock.
	Ask(ctx context.Context) (bool, error)
	// Lost is closed when the client library learns that the lease is gone. It is
	// nil where the library never tells.
	Lost() <-chan struct{}
	// Release gives the lease back. The error is [Definite] when the store said
	// that there was nothing left to release.
	Release(ctx context.Context) error
}

// Companion is a lock that keeps processes of its own beside the worker: the driver of
// a lock in another language. A pause stops both, or it would be none.
type Companion interface {
	// Halt stops them, and returns when the kernel shows every one of their threads as
	// stopped.
	Halt(ctx context.Context) error
	// Resume lets them go on.
	Resume() error
	// Failed is why they are of no more use, nil while they are.
	Failed() error
}

// Listener is told what a client library does on its own, at the time it does it.
// Its methods are called from the library's goroutines and must not block.
type Listener interface {
	// Began tells, from inside Acquire, which session carries the attempt.
	Began(session string)
	// Renewing tells that a renewal of the session is about to be sent. The
	// returned function is called once with the answer: the ttl that the store
	// returned, or an error, [Definite] if the store said that the lease is gone.
	Renewing(session string) (answered func(ttl time.Duration, err error))
}

// Options is what an adapter is handed to connect.
type Options struct {
	Endpoints []string // addresses of the store, as store.Store gives them
	Prefix    string   // fresh for each cell: every key of the lock begins with it
	Listener  Listener // never nil
}

// Factory connects a client library. One process calls it once.
type Factory func(ctx context.Context, o Options) (Lock, error)
