// Package resource is what a lock protects: something with a value, a fence, and
// a commit number of its own.
//
// Fencing happens here and nowhere else. No check on the holder's side can take
// the place of it: between any check and the act that follows there is room for
// a pause.
package resource

import (
	"context"
	"errors"
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
)

// Token is the fencing token that goes with an operation; absent if the lock
// issues none or the operation is an observer's. 0 is a token.
type Token = histories.Option[int64]

// Resource is a client of protected resources, each with a name. Every operation
// is one atomic step at the resource: value, highest token and commit number
// change together or not at all.
//
// An error is [*Refused] when the resource refused the token; any other error is
// indefinite, the operation may have happened. A client never retries on its own.
type Resource interface {
	// Open announces a token without touching the value (Hazelcast's documentation
	// has the new holder do so before it works; BookKeeper fences a ledger so). It
	// raises the highest token where the fence is "all".
	Open(ctx context.Context, name string, token Token) (Answer, error)
	// Read returns the value. Where the fence is "all" it raises the highest token,
	// and is refused if its own is lower.
	Read(ctx context.Context, name string, token Token) (Answer, error)
	// Write replaces the value. It calls point.Reach with histories.PointSent when
	// the request is on its way.
	Write(ctx context.Context, name string, token Token, value string) (Answer, error)
	// Close gives up the client's connections.
	Close() error
}

// Answer is what the resource said.
type Answer struct {
	Value string                  // read only
	Seq   histories.Option[int64] // the commit number, where the resource has one
}

// Refused is the definite no of a fence.
type Refused struct {
	Seq     histories.Option[int64] // the commit number of the refusal, where the resource numbers refusals
	Highest int64                   // the highest token that the resource has seen
	Why     string                  // if it was not for a higher token: "the lock key is gone"
}

func (e *Refused) Error() string {
	if e.Why != "" {
		return histories.ErrFenced + ": " + e.Why
	}
	return fmt.Sprintf("%s: the resource has seen token %d", histories.ErrFenced, e.Highest)
}

// AsRefused returns the refusal in err, if it is one.
func AsRefused(err error) (*Refused, bool) {
	var r *Refused
	ok := errors.As(err, &r)
	return r, ok
}

// Factory connects a client to the resource server at the endpoint.
type Factory func(ctx context.Context, endpoint string) (Resource, error)

// Server is a running resource server.
type Server interface {
	// Endpoint is the address at which its clients reach it.
	Endpoint() string
	// Versions names what runs, for the run record.
	Versions() map[string]string
	// Done is closed when it has ended, asked to or not.
	Done() <-chan struct{}
	// Stop ends it and removes what it left behind, except for its logs. It may be
	// called more than once.
	Stop(ctx context.Context) error
}

// ServerOptions says how a resource server is to begin.
type ServerOptions struct {
	Dir     string            // for its log and its data
	Prefix  string            // of every key, where the server is shared with others
	Store   []string          // endpoints of the store that it lives in, if it lives in one
	Fence   histories.Fence   // what it does with tokens
	Initial map[string]string // values before the first write, by resource name; "" where not said
}
