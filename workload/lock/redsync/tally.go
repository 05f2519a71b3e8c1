package redsync

import (
	"context"
	"sync"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"

	"github.com/leasehold-checker/leasehold/workload/lock/redis"
)

// reply is what one server said to one request.
type reply int

const (
	silent reply = iota // it was not asked, or would not do it
	yes
	no
	unsure // no answer
)

// tally is what the servers said to the requests with one value. The library counts
// the same answers and then keeps to itself which of its noes were none: with three
// servers' "taken" and two that did not answer, its error says "taken".
type tally struct {
	mu      sync.Mutex
	set     map[int]reply // by server: SET NX
	deleted map[int]reply
	touched map[int]reply // set to expire anew
}

func newTally() *tally {
	return &tally{set: map[int]reply{}, deleted: map[int]reply{}, touched: map[int]reply{}}
}

type tallyKey struct{}

// in returns a context whose requests are counted.
func (t *tally) in(ctx context.Context) context.Context { return context.WithValue(ctx, tallyKey{}, t) }

func (t *tally) note(which map[int]reply, node int, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch was := which[node]; {
	case err == nil && ok:
		which[node] = yes
	case was == yes: // and the value does not come back
	case err == nil:
		which[node] = no
	case was == no || redis.NotSent(err) || redis.Refused(err):
	default:
		which[node] = unsure
	}
}

func count(which map[int]reply, what reply) int {
	n := 0
	for _, r := range which {
		if r == what {
			n++
		}
	}
	return n
}

// freed counts the answers to the deletion.
func (t *tally) freed(what reply) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return count(t.deleted, what)
}

// extended counts the answers to the new expiry.
func (t *tally) extended(what reply) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return count(t.touched, what)
}

// left lists the servers where the key may be, or may come to be: it was set, and not
// seen deleted or gone; or it may have been set, and was not seen deleted. (A key that
// may have been set and is not there may be on its way: a server reads its connections
// in no order.)
func (t *tally) left() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var nodes []int
	for node, set := range t.set {
		gone := t.deleted[node] == yes || set == yes && t.deleted[node] == no
		if (set == yes || set == unsure) && !gone {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// pool is the library's own pool for one server, and notes the answers.
type pool struct {
	redsyncredis.Pool
	node int
}

func (p pool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	c, err := p.Pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	t, _ := ctx.Value(tallyKey{}).(*tally)
	if t == nil {
		return c, nil
	}
	return conn{Conn: c, node: p.node, tally: t}, nil
}

type conn struct {
	redsyncredis.Conn
	node  int
	tally *tally
}

func (c conn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	ok, err := c.Conn.SetNX(name, value, expiry)
	c.tally.note(c.tally.set, c.node, ok, err)
	return ok, err
}

// Eval is a deletion (key, value) or a new expiry (key, value, expiry). Both answer 1
// if the key had the value.
func (c conn) Eval(script *redsyncredis.Script, keysAndArgs ...any) (any, error) {
	answer, err := c.Conn.Eval(script, keysAndArgs...)
	which := c.tally.deleted
	if len(keysAndArgs) == 3 {
		which = c.tally.touched
	}
	c.tally.note(which, c.node, answer == int64(1), err)
	return answer, err
}
