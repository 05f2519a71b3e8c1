// Package external is for lock stores that are there already: somebody else brought
// them up, at endpoints that the user names, and nothing is done to them but what
// their clients do.
package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/leasehold-checker/leasehold/workload/store"
)

// Ready does at one endpoint what the store is for, leaves nothing behind, and returns
// the version of the server, or "" if it does not tell.
type Ready func(ctx context.Context, endpoint string) (version string, err error)

// Store is a store at given endpoints. It has no nodes, and is never Down.
type Store struct {
	kind      string
	endpoints []string
	versions  map[string]string
}

var _ store.Store = (*Store)(nil)

// Connect checks that the store of the kind is ready at each of o.Endpoints, in their
// order. It does not wait for it to become so.
func Connect(ctx context.Context, kind string, o store.Options, ready Ready) (*Store, error) {
	if len(o.Endpoints) == 0 {
		return nil, fmt.Errorf("connect to %s: %w", kind, errNoEndpoint)
	}
	s := &Store{kind: kind, endpoints: slices.Clone(o.Endpoints), versions: map[string]string{}}
	for i, endpoint := range s.endpoints {
		o.Progress(fmt.Sprintf("%s: connecting to %s", kind, endpoint))
		version, err := ready(ctx, endpoint)
		if err != nil {
			return nil, fmt.Errorf("connect to %s at %s: %w", kind, endpoint, err)
		}
		if i == 0 && version != "" {
			s.versions[kind] = version
		}
	}
	return s, nil
}

var errNoEndpoint = errors.New("no endpoint is given")

// Kind is the name of the store.
func (s *Store) Kind() string { return s.kind }

// Endpoints are those that were given.
func (s *Store) Endpoints() []string { return slices.Clone(s.endpoints) }

// Versions is what the server at the first endpoint says of itself.
func (s *Store) Versions() map[string]string { return maps.Clone(s.versions) }

// Nodes is nil: nothing is done to servers that are not ours.
func (s *Store) Nodes() []store.Node { return nil }

// Down is never closed.
func (s *Store) Down() <-chan struct{} { return nil }

// Stop does nothing: the store is not ours.
func (s *Store) Stop(context.Context) error { return nil }
