package consul

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"
)

// Ended is a grant that the store was seen to end: its key has another session, or none.
type Ended struct {
	Name    string // of the lock
	Session string
	Token   int64 // the ModifyIndex of the key while it was held
}

// Watch reports the ends of grants below the prefix to sink until ctx ends, which is no
// error. It calls ready once, when it watches.
//
// It asks again and again what there is, each time only when something has changed. A
// grant that came and went between two looks is not reported. The time at which sink is
// called says only that the end came before.
func Watch(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(Ended)) error {
	transport := newTransport()
	defer transport.CloseIdleConnections()
	client, err := dial(endpoints[0], transport)
	if err != nil {
		return fmt.Errorf("watch %s: %w", prefix, err)
	}
	held := map[string]Ended{}
	for index, watching := uint64(0), false; ; {
		options := consistent(ctx)
		options.WaitIndex = index
		pairs, meta, err := client.KV().List(prefix, options)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !watching:
			return fmt.Errorf("watch %s: %w", prefix, err)
		case err != nil:
			pause(ctx)
			continue
		case !watching:
			watching = true
			ready()
		}
		compare(held, pairs, prefix, sink)
		if meta.LastIndex < index {
			index = 0 // as the documentation of blocking queries asks for
			continue
		}
		index = meta.LastIndex
	}
}

// compare brings held up to date and reports what is in it no more.
func compare(held map[string]Ended, pairs api.KVPairs, prefix string, sink func(Ended)) {
	now := map[string]Ended{}
	for _, pair := range pairs {
		if pair.Session != "" {
			now[pair.Key] = Ended{strings.TrimPrefix(pair.Key, prefix), pair.Session, int64(pair.ModifyIndex)}
		}
	}
	for key, was := range held {
		if now[key].Session != was.Session {
			delete(held, key)
			sink(was)
		}
	}
	for key, is := range now {
		if _, known := held[key]; !known {
			held[key] = is
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
}

// Empty proves that no key has the prefix. Anything else is an error.
func Empty(ctx context.Context, endpoints []string, prefix string) error {
	transport := newTransport()
	defer transport.CloseIdleConnections()
	client, err := dial(endpoints[0], transport)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	keys, _, err := client.KV().Keys(prefix, "", consistent(ctx))
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	if len(keys) > 0 {
		return fmt.Errorf("look at prefix %s: not fresh: it holds %d keys", prefix, len(keys))
	}
	return nil
}
