package edn

import (
	"maps"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// guard says which lock guards each register, if the file shows that one does: every
// acknowledged write lies in a hold of its own process, of the only lock, or of the
// one with the register's name. Locks and registers that have nothing to do with
// each other would be accused of writes without a hold.
func (b *builder) guard(ops []registerOp) bool {
	calls := make(map[*call]*registerOp, len(ops))
	registers := map[string]bool{}
	for i := range ops {
		if ops[i].f == "cas" {
			return false // its write is by a worker of its own, which holds nothing
		}
		calls[ops[i].call] = &ops[i]
		registers[ops[i].key] = true
	}
	locks := map[string]bool{}
	for i := range b.calls {
		if c := &b.calls[i]; c.lock != "" {
			locks[c.lock] = true
		}
	}
	lockFor := func(register string) string {
		for lock := range locks {
			if len(locks) == 1 {
				return lock
			}
		}
		return register
	}
	if !b.writesHeld(calls, lockFor) {
		return false
	}
	for _, register := range slices.Sorted(maps.Keys(registers)) {
		b.h.Header.Guards = append(b.h.Header.Guards, histories.Guard{Lock: lockFor(register), Resource: register})
	}
	return true
}

func (b *builder) writesHeld(calls map[*call]*registerOp, lockFor func(string) string) bool {
	type hold struct {
		process int64
		lock    string
	}
	held := map[hold]bool{}
	for i := range b.calls {
		c := &b.calls[i]
		if c.kind != histories.OK {
			continue
		}
		if c.lock != "" {
			held[hold{c.process, c.lock}] = c.f == "acquire"
		} else if o := calls[c]; o != nil && c.f == "write" && !held[hold{c.process, lockFor(o.key)}] {
			return false
		}
	}
	return true
}
