package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Deleted is a lock key that went away: its lease ended, or somebody deleted it.
type Deleted struct {
	Key            string // with the prefix
	Session        string // the lease that the key hung on, in hex; "" if none
	CreateRevision int64  // the token of the grant
}

// Watch reports the deletions of keys with the prefix to sink, in the order of the
// store, until ctx ends, which is no error. It calls ready once, when the store has
// confirmed that from now on it sees everything. After a broken connection it goes
// on where it was; if the store cannot tell what happened meanwhile (compaction),
// that is an error: a gap would look like leases that never ended.
//
// The time at which sink is called says only that the deletion came before.
func Watch(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(Deleted)) error {
	client, err := dial(endpoints)
	if err != nil {
		return fmt.Errorf("watch %s: %w", prefix, err)
	}
	defer client.Close()
	events := client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithPrevKV(),
		clientv3.WithFilterPut(), clientv3.WithCreatedNotify())
	created := false
	for answer := range events {
		if err := answer.Err(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch %s: %w", prefix, err)
		}
		if answer.Created && !created {
			created = true
			ready()
		}
		if err := report(answer.Events, sink); err != nil {
			return fmt.Errorf("watch %s: %w", prefix, err)
		}
	}
	if ctx.Err() == nil {
		return fmt.Errorf("watch %s: %w", prefix, errors.New("ended by the client"))
	}
	return nil
}

func report(events []*clientv3.Event, sink func(Deleted)) error {
	for _, event := range events {
		if event.Type != clientv3.EventTypeDelete {
			continue
		}
		if event.PrevKv == nil {
			return fmt.Errorf("key %s was deleted, and the store no longer knows what it was", event.Kv.Key)
		}
		deleted := Deleted{Key: string(event.Kv.Key), CreateRevision: event.PrevKv.CreateRevision}
		if event.PrevKv.Lease != 0 {
			deleted.Session = sessionName(clientv3.LeaseID(event.PrevKv.Lease))
		}
		sink(deleted)
	}
	return nil
}

// Empty proves that no key has the prefix. Anything else is an error.
func Empty(ctx context.Context, endpoints []string, prefix string) error {
	client, err := dial(endpoints)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	defer client.Close()
	answer, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	if answer.Count > 0 {
		return fmt.Errorf("look at prefix %s: not fresh: it holds %d keys", prefix, answer.Count)
	}
	return nil
}
