// Package register is a protected resource of our own: a small server in a process
// of its own, and its client.
//
// For each resource name it keeps a value, the highest token seen and a commit
// number, and changes them under one mutex: every operation is one atomic step.
// Every operation, accepted or refused, takes the next commit number, so that the
// order of a history needs no clock.
package register

import (
	"sync"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Config is what a server keeps to. Its JSON form is the config of the child.
type Config struct {
	Fence   histories.Fence   `json:"fence"`             // "" is FenceOff
	Initial map[string]string `json:"initial,omitempty"` // value of a resource before its first write; "" if not said
}

// state is one resource.
type state struct {
	value   string
	highest resource.Token
	seq     int64
}

// table is all resources of a server.
type table struct {
	config Config

	mu     sync.Mutex
	states map[string]*state
}

func newTable(config Config) *table {
	return &table{config: config, states: make(map[string]*state)}
}

// apply does one operation. name is only borrowed.
func (t *table) apply(req *request) answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.states[string(req.name)]
	if s == nil {
		s = &state{value: t.config.Initial[string(req.name)]}
		t.states[string(req.name)] = s
	}
	s.seq++
	if t.refuses(s, req) {
		return answer{refused: true, seq: s.seq, highest: s.highest.Or(0)}
	}
	if token, known := req.token.Get(); known && t.raises(req.op) && !below(token, s.highest) {
		s.highest = req.token
	}
	a := answer{seq: s.seq}
	switch req.op {
	case opRead:
		a.value = s.value
	case opWrite:
		s.value = string(req.value)
	}
	return a
}

// refuses tells whether the fence refuses the operation. An equal token passes: a
// holder acts many times under one token. Without a token nobody can write past a
// fence, but an observer may look.
func (t *table) refuses(s *state, req *request) bool {
	if !t.raises(req.op) {
		return false
	}
	token, known := req.token.Get()
	if !known {
		return req.op == opWrite
	}
	return below(token, s.highest)
}

// raises tells whether the fence looks at operations of this kind at all: those it
// refuses are those that raise it.
func (t *table) raises(op byte) bool {
	switch t.config.Fence {
	case histories.FenceAll:
		return true
	case histories.FenceWrites:
		return op == opWrite
	}
	return false
}

func below(token int64, highest resource.Token) bool {
	h, known := highest.Get()
	return known && token < h
}
