package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

// queue is the recipe: the nodes below dir, in the order of their numbers.
type queue struct {
	conn  *zk.Conn
	dir   string
	own   string // the name of the own node, in dir
	czxid int64
}

func (q *queue) token() (int64, bool) { return q.czxid, true }

func (q *queue) take(ctx context.Context) error {
	if err := q.enter(ctx); err != nil {
		return err
	}
	for {
		before, err := await(ctx, q.before)
		if err != nil || before == "" {
			return err
		}
		gone, err := await(ctx, func() (<-chan zk.Event, error) {
			there, _, gone, err := q.conn.ExistsW(q.dir + "/" + before)
			if !there {
				return nil, err
			}
			return gone, err
		})
		if err != nil {
			return err
		}
		if gone == nil {
			continue
		}
		select {
		case e := <-gone:
			if e.Err != nil {
				return e.Err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enter makes the own node and reads when it was made. That is no second step that
// could be overtaken: the node's name is its own for ever.
func (q *queue) enter(ctx context.Context) error {
	path, err := await(ctx, q.create)
	if err != nil {
		return err
	}
	q.own = path[strings.LastIndexByte(path, '/')+1:]
	stat, err := await(ctx, func() (*zk.Stat, error) {
		there, stat, err := q.conn.Exists(path)
		if err == nil && !there {
			err = errGone
		}
		return stat, err
	})
	if err != nil {
		return err
	}
	q.czxid = stat.Czxid
	return nil
}

func (q *queue) create() (string, error) {
	path, err := q.conn.CreateProtectedEphemeralSequential(q.dir+"/lock-", nil, anyone())
	if !errors.Is(err, zk.ErrNoNode) {
		return path, err
	}
	if err := makeParents(q.conn, q.dir); err != nil {
		return "", err
	}
	return q.conn.CreateProtectedEphemeralSequential(q.dir+"/lock-", nil, anyone())
}

func makeParents(conn *zk.Conn, dir string) error {
	for at := 1; at < len(dir); {
		end := len(dir)
		if cut := strings.IndexByte(dir[at:], '/'); cut >= 0 {
			end = at + cut
		}
		_, err := conn.Create(dir[:end], nil, zk.FlagPersistent, anyone())
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", dir[:end], err)
		}
		at = end + 1
	}
	return nil
}

// before is the node next in front of the own one, "" if that is the first.
func (q *queue) before() (string, error) {
	names, _, err := q.conn.Children(q.dir)
	if err != nil {
		return "", err
	}
	return next(names, q.own)
}

func next(names []string, own string) (string, error) {
	mine, err := number(own)
	if err != nil {
		return "", err
	}
	found, before, last := false, "", int64(0)
	for _, name := range names {
		n, err := number(name)
		if err != nil {
			return "", err
		}
		found = found || name == own
		if n < mine && (before == "" || n > last) {
			before, last = name, n
		}
	}
	if !found {
		return "", errGone
	}
	return before, nil
}

// number is what the server appended to the name of a sequential node.
func number(name string) (int64, error) {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no lock node: %w", name, err)
	}
	return n, nil
}

func (q *queue) remove() error { return q.conn.Delete(q.dir+"/"+q.own, -1) }

func (q *queue) holds(asker *zk.Conn, session int64) (bool, error) {
	path := q.dir + "/" + q.own
	if _, err := asker.Sync(path); err != nil {
		return false, err
	}
	there, stat, err := asker.Exists(path)
	return there && stat.EphemeralOwner == session, err
}
