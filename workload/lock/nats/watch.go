package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Ended is a grant whose key went away: it grew too old, or somebody deleted it.
type Ended struct {
	Name    string // of the lock
	Session string // the value of the key
	Token   int64  // the revision of its create
}

// Watch reports the ends of grants below the prefix to sink, in the order of the
// bucket, until ctx ends, which is no error. It calls ready once, when it sees
// everything from then on. If there is no bucket yet, that is at once: an expiry in a
// bucket that comes later can't be missed, only a grant that is released in its first
// moments.
//
// An expiry is seen through the marker that the server leaves when a key has reached
// the age limit. A grant that came and went while the client was connecting again is
// not reported; one whose create was missed is reported with the revision of a renewal,
// which is nobody's token. The time at which sink is called says only that the end came before.
func Watch(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(Ended)) error {
	client, js, err := dial(ctx, endpoints)
	if err != nil {
		return fmt.Errorf("watch %s: %w", prefix, err)
	}
	defer client.Close()
	kv, told, err := awaitBucket(ctx, js, bucketName(prefix), ready)
	if err != nil {
		return ended(ctx, prefix, err)
	}
	watcher, err := kv.WatchAll(ctx)
	if err != nil {
		return ended(ctx, prefix, err)
	}
	defer watcher.Stop()
	grants := grants{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return ended(ctx, prefix, errors.New("ended by the client"))
			case entry != nil:
				grants.see(entry, sink)
			case !told: // nil: all that was there at the beginning
				ready()
			}
		}
	}
}

func ended(ctx context.Context, prefix string, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch %s: %w", prefix, err)
}

// awaitBucket waits until there is a bucket. It looks more often than a lease in a new
// one could end.
func awaitBucket(ctx context.Context, js jetstream.JetStream, name string, ready func()) (kv jetstream.KeyValue, told bool, err error) {
	for {
		kv, err := js.KeyValue(ctx, name)
		if !errors.Is(err, jetstream.ErrBucketNotFound) {
			return kv, told, err
		}
		if !told {
			told = true
			ready()
		}
		sleep(ctx, LeastTTL/10)
		if err := ctx.Err(); err != nil {
			return nil, told, err
		}
	}
}

// grants are those that hold, by lock name.
type grants map[string]Ended

// see takes one entry in. All entries of one grant have the same value, the first is
// its create.
func (g grants) see(entry jetstream.KeyValueEntry, sink func(Ended)) {
	name := entry.Key()
	was, held := g[name]
	value := string(entry.Value())
	if entry.Operation() == jetstream.KeyValuePut && held && was.Session == value {
		return
	}
	if held {
		sink(was)
		delete(g, name)
	}
	if entry.Operation() == jetstream.KeyValuePut {
		// If this is a renewal, and not the create, then this revision is the token of no
		// grant, and nobody is accused of its end.
		g[name] = Ended{Name: name, Session: value, Token: int64(entry.Revision())}
	}
}

// Empty proves that the bucket of the prefix has no entry, or is not there. Anything
// else is an error.
func Empty(ctx context.Context, endpoints []string, prefix string) error {
	client, js, err := dial(ctx, endpoints)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+time.Second)
	defer cancel()
	kv, err := js.KeyValue(ctx, bucketName(prefix))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	if n := status.Values(); n > 0 {
		return fmt.Errorf("look at prefix %s: not fresh: its bucket holds %d entries", prefix, n)
	}
	return nil
}
