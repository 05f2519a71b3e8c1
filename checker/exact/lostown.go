package exact

import (
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// ownWrites are the acknowledged writes of each worker. They have one order: the
// history orders any two operations of a worker, by number if both have one and in the
// order in which it did them otherwise, and what an order explains has no cycle. So
// every order has them as the one at hand has them, and it is known which of them lie
// between a base and the write that is based on it.
type ownWrites struct {
	start  []int32 // the writes of worker w are list[start[w]:start[w+1]]
	list   []int32
	before []int32 // by operation: how many acknowledged writes of its worker come before it
	least  []int32 // by place in list: the smallest operation from there on

	// unordered: two writes of one worker have the same number, and so no order. Their
	// resource is at fault, but not by this rule.
	unordered bool
}

func newOwnWrites(s *Solver, order []int32) *ownWrites {
	o := &ownWrites{before: make([]int32, s.n)}
	workers := int32(0)
	for i := range s.ops {
		workers = max(workers, s.ops[i].Worker+1)
	}
	o.start = make([]int32, workers+1)
	for _, i := range order {
		op := &s.ops[i]
		o.before[i] = o.start[op.Worker]
		if op.Write && op.Acked {
			o.start[op.Worker]++
		}
	}
	total := int32(0)
	for w, n := range o.start {
		o.start[w] = total
		total += n
	}
	o.list, o.least = make([]int32, total), make([]int32, total)
	for _, i := range order {
		if op := &s.ops[i]; op.Write && op.Acked {
			o.list[o.start[op.Worker]+o.before[i]] = i
		}
	}
	o.finish(s.ops)
	return o
}

func (o *ownWrites) finish(ops []model.Operation) {
	for k := len(o.list) - 1; k >= 0; k-- {
		i := o.list[k]
		o.least[k] = i
		if k+1 == len(o.list) || ops[o.list[k+1]].Worker != ops[i].Worker {
			continue
		}
		o.least[k] = min(i, o.least[k+1])
		o.unordered = o.unordered || !model.Precedes(&ops[i], &ops[o.list[k+1]])
	}
}

// of lists the acknowledged writes of a worker in their order.
func (o *ownWrites) of(worker int32) []int32 { return o.list[o.start[worker]:o.start[worker+1]] }

// followed is how many of a worker's acknowledged writes its unanswered write w
// follows because the worker had begun them before, and because others come before
// these by number.
func (o *ownWrites) followed(w, worker int32) int32 {
	least := o.least[o.start[worker]:o.start[worker+1]]
	return int32(sort.Search(len(least), func(k int) bool { return least[k] > w }))
}
