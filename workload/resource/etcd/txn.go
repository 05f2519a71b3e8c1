package etcd

import (
	"fmt"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

const signBit = 1 << 63

// encode keeps the order of tokens in an order of bytes.
func encode(token int64) string { return fmt.Sprintf("%016x", uint64(token)^signBit) }

func decode(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse highest token %.40q: %w", text, err)
	}
	return int64(n ^ signBit), nil
}

// plan is one operation: conditions within each other, as transactions can't say
// "or", and what is done if all hold. Which conditions there are must be known to
// read the answer.
type plan struct {
	op     clientv3.Op
	token  resource.Token
	guard  bool // outermost: the lock key has the token as its create revision
	fence  bool // next: the token is not below the highest
	refuse bool // no condition: it is refused, whatever the state
}

// look is a read or an open.
func (c *Client) look(name string, token resource.Token) plan {
	p := plan{token: token}
	get := clientv3.OpGet(valueKey(c.space, name))
	t, known := token.Get()
	if c.fence != histories.FenceAll || !known {
		p.op = clientv3.OpTxn(nil, []clientv3.Op{get}, nil)
		return p
	}
	// An equal token changes nothing, and takes no revision.
	key, own := tokenKey(c.space, name), encode(t)
	p.op = clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value(key), "=", own)},
		[]clientv3.Op{get}, []clientv3.Op{get, clientv3.OpPut(key, own)})
	return c.fenced(p, name, t)
}

// replace is a write. lockKey is "" if none is required.
func (c *Client) replace(name string, token resource.Token, value, lockKey string) plan {
	p := plan{token: token}
	put := clientv3.OpPut(valueKey(c.space, name), value)
	t, known := token.Get()
	switch {
	case c.fence == histories.FenceOff:
		p.op = clientv3.OpTxn(nil, []clientv3.Op{put}, nil)
		return p
	case !known:
		p.refuse = true
		p.op = clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(tokenKey(c.space, name))}, nil)
		return p
	}
	raise := clientv3.OpPut(tokenKey(c.space, name), encode(t))
	p.op = clientv3.OpTxn(nil, []clientv3.Op{put, raise}, nil)
	p = c.fenced(p, name, t)
	if lockKey == "" {
		return p
	}
	p.guard = true
	held := clientv3.Compare(clientv3.CreateRevision(lockKey), "=", t)
	p.op = clientv3.OpTxn([]clientv3.Cmp{held}, []clientv3.Op{p.op}, []clientv3.Op{clientv3.OpGet(tokenKey(c.space, name))})
	return p
}

// fenced puts the fence before p. There is no ">=" among etcd's comparisons, hence
// the refusal in the first branch. While there is no highest token the comparison
// fails, and p is done.
func (c *Client) fenced(p plan, name string, token int64) plan {
	key := tokenKey(c.space, name)
	below := clientv3.Compare(clientv3.Value(key), ">", encode(token))
	p.fence = true
	p.op = clientv3.OpTxn([]clientv3.Cmp{below}, []clientv3.Op{clientv3.OpGet(key)}, []clientv3.Op{p.op})
	return p
}

// read reads the answer. The revision stands in the outermost one.
func (p plan) read(answer *pb.TxnResponse) (resource.Answer, error) {
	seq, at := histories.Some(answer.Header.Revision), answer
	if p.guard {
		if !at.Succeeded {
			return resource.Answer{}, p.refused(seq, at, "the lock key is gone")
		}
		at = at.Responses[0].GetResponseTxn()
	}
	if p.refuse || p.fence && at.Succeeded {
		return resource.Answer{}, p.refused(seq, at, "")
	}
	if p.fence {
		at = at.Responses[0].GetResponseTxn()
	}
	a := resource.Answer{Seq: seq}
	if got := at.Responses[0].GetResponseRange(); got != nil && len(got.Kvs) > 0 {
		a.Value = string(got.Kvs[0].Value)
	}
	return a, nil
}

// refused makes the error of a refusal, whose answer has the highest token. A higher
// token is the better reason.
func (p plan) refused(seq histories.Option[int64], answer *pb.TxnResponse, why string) error {
	r := &resource.Refused{Seq: seq, Why: why}
	kvs := answer.Responses[0].GetResponseRange().GetKvs()
	if len(kvs) == 0 {
		return r
	}
	highest, err := decode(string(kvs[0].Value))
	if err != nil {
		return err
	}
	r.Highest = highest
	if own, known := p.token.Get(); known && own < highest {
		r.Why = ""
	}
	return r
}
