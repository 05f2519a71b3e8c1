package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Ended is a lock node that went away: its session ended, or somebody deleted it.
type Ended struct {
	Name    string // of the lock
	Session string // of the node
	Token   int64  // the czxid of the node
}

// watchTimeout is the session timeout of a watch: long enough for a busy machine.
const watchTimeout = 10 * time.Second

// Watch reports the ends of lock nodes below the prefix, which must end in "/", until
// ctx ends, which is no error. It calls ready once, when it watches.
//
// The client has only watches that fire once, so that between two looks a node can
// come and go unseen. That is no expiry: a node that expires has lived for a session
// timeout. After a broken connection Watch looks again, and reports what went away
// meanwhile; what also came meanwhile is not reported. If it was cut off for so long
// that its own session has ended, that is an error: a gap like that would look like
// leases that never ended.
//
// The time at which sink is called says only that the end came before. Ends of
// different locks may be reported in another order than they happened.
func Watch(ctx context.Context, endpoints []string, prefix string, ready func(), sink func(Ended)) error {
	s, err := newSession(endpoints, watchTimeout)
	if err != nil {
		return fmt.Errorf("watch %s: %w", prefix, err)
	}
	defer s.close(context.WithoutCancel(ctx))
	w := &watch{session: s, prefix: prefix, sink: sink}
	w.ctx, w.fail = context.WithCancelCause(ctx)
	defer w.fail(nil)
	if err := s.awaitBegin(ctx); err != nil {
		return fmt.Errorf("watch %s: %w", prefix, err)
	}
	dir := "/" + strings.TrimSuffix(prefix, "/")
	if _, err := await(ctx, func() (struct{}, error) { return struct{}{}, makeParents(s.conn, dir) }); err != nil {
		return fmt.Errorf("watch %s: %w", prefix, err)
	}
	w.locks(dir, ready)
	w.looking.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch %s: %w", prefix, context.Cause(w.ctx))
}

type watch struct {
	ctx     context.Context
	fail    context.CancelCauseFunc
	session *session
	prefix  string
	looking sync.WaitGroup

	mu   sync.Mutex // one call of sink at a time
	sink func(Ended)
}

// locks watches for new lock names.
func (w *watch) locks(dir string, ready func()) {
	known := map[string]bool{}
	w.children(dir, func(names []string) bool {
		for _, name := range names {
			if !known[name] {
				known[name] = true
				w.looking.Go(func() { w.nodes(dir+"/"+name, name) })
			}
		}
		if ready != nil {
			ready()
			ready = nil
		}
		return true
	})
}

// nodes watches the queue of one lock.
func (w *watch) nodes(dir, name string) {
	known := map[string]Ended{}
	w.children(dir, func(nodes []string) bool {
		there := map[string]bool{}
		for _, node := range nodes {
			there[node] = true
			if _, ok := known[node]; ok {
				continue
			}
			exists, stat, err := w.session.conn.Exists(dir + "/" + node)
			if err != nil {
				return false
			}
			if exists {
				known[node] = Ended{Name: name, Session: sessionName(stat.EphemeralOwner), Token: stat.Czxid}
			}
		}
		for node, ended := range known {
			if !there[node] {
				delete(known, node)
				w.report(ended)
			}
		}
		return true
	})
}

func (w *watch) report(e Ended) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sink(e)
}

// children calls see with the children of dir, now and after each change. If see
// returns false it is called again.
func (w *watch) children(dir string, see func([]string) bool) {
	for w.ctx.Err() == nil {
		names, changed, err := w.look(dir)
		if err != nil || !see(names) {
			w.pause()
			continue
		}
		select {
		case <-changed: // also when the watch was lost: look again
		case <-w.session.expired:
			w.fail(errors.New("the session of the watch has expired"))
		case <-w.ctx.Done():
		}
	}
}

func (w *watch) look(dir string) ([]string, <-chan zk.Event, error) {
	type answer struct {
		names   []string
		changed <-chan zk.Event
	}
	a, err := await(w.ctx, func() (answer, error) {
		names, _, changed, err := w.session.conn.ChildrenW(dir)
		return answer{names, changed}, err
	})
	return a.names, a.changed, err
}

// pause waits a moment after a request that failed, unless no other can succeed.
func (w *watch) pause() {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-w.session.expired:
		w.fail(errors.New("the session of the watch has expired"))
	case <-w.ctx.Done():
	}
}

// Empty proves that there is no node below the prefix, up to its last "/", whose name
// begins with the rest. A parent that is left is nothing. Anything else is an error.
func Empty(ctx context.Context, endpoints []string, prefix string) error {
	conn, err := dial(ctx, endpoints)
	if err != nil {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	defer conn.Close()
	cut := strings.LastIndexByte(prefix, '/')
	dir, begin := "/"+prefix[:max(cut, 0)], prefix[cut+1:]
	names, err := await(ctx, func() ([]string, error) {
		if _, err := conn.Sync(dir); err != nil {
			return nil, err
		}
		names, _, err := conn.Children(dir)
		return names, err
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("look at prefix %s: %w", prefix, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, begin) {
			return fmt.Errorf("look at prefix %s: not fresh: there is %s", prefix, name)
		}
	}
	return nil
}
