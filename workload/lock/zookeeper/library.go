package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// library is zk.Lock. It can't be cancelled but by the end of its client, and it does
// not say which node is its own.
type library struct {
	lock *zk.Lock
	drop func() // ends the client
	dir  string
}

func (l *library) token() (int64, bool) { return 0, false }

func (l *library) take(ctx context.Context) error {
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, l.lock.Lock() })
	if err != nil {
		l.drop()
	}
	return err
}

func (l *library) remove() error { return l.lock.Unlock() }

// holds looks whose the lowest node is.
func (l *library) holds(asker *zk.Conn, session int64) (bool, error) {
	if _, err := asker.Sync(l.dir); err != nil {
		return false, err
	}
	for {
		names, _, err := asker.Children(l.dir)
		if errors.Is(err, zk.ErrNoNode) || err == nil && len(names) == 0 {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		first, err := lowest(names)
		if err != nil {
			return false, err
		}
		there, stat, err := asker.Exists(l.dir + "/" + first)
		if err != nil || there {
			return there && stat.EphemeralOwner == session, err
		}
	}
}

func lowest(names []string) (string, error) {
	first, least := "", int64(0)
	for _, name := range names {
		n, err := number(name)
		if err != nil {
			return "", err
		}
		if first == "" || n < least {
			first, least = name, n
		}
	}
	return first, nil
}
