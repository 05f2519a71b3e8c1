package floor

import (
	"sort"

	"github.com/leasehold-checker/leasehold/histories"
)

const memory = 4096 // entries of a front, and tokens of a lock, that are remembered

// fronts hold what has to be known about the operations on one resource to find a
// partner for the next one. The resource's own numbers are the order where both
// operations have one, and then nothing else is; otherwise real time.
//
// Files are read side by side, so the newer operation of a pair may come second:
// there is a front for either role, with the signs of the other one turned.
type fronts struct {
	newer, older orders
}

// orders: one front for each way in which an operation can come before another.
type orders struct {
	byNumber front // both have numbers
	byTime   front // of all operations, for those without a number
	unnumber front // of operations without a number, for those with one
}

func (f *fronts) take(o *histories.Operation, g *grant) *Stale {
	number, numbered := o.Seq.Get()
	number *= 2 // at one number the write comes first
	if o.F != histories.Write {
		number++
	}
	late := f.newer.find(o.Process, numbered, number, o.Invoke, g.low)
	early := f.older.find(o.Process, numbered, -number, -o.Return, -g.high)
	f.newer.add(o, numbered, number, o.Return, g.high)
	f.older.add(o, numbered, -number, -o.Invoke, -g.low)
	switch {
	case late != nil:
		return &Stale{Late: *o, Newer: late.op}
	case early != nil:
		return &Stale{Late: early.op, Newer: *o}
	}
	return nil
}

func (r *orders) find(worker string, numbered bool, number, time, rank int64) *entry {
	if !numbered {
		return r.byTime.find(time, rank, worker)
	}
	if e := r.byNumber.find(number, rank, worker); e != nil {
		return e
	}
	return r.unnumber.find(time, rank, worker)
}

func (r *orders) add(o *histories.Operation, numbered bool, number, time, rank int64) {
	kept := *o
	r.byTime.add(entry{time, rank, kept})
	if numbered {
		r.byNumber.add(entry{number, rank, kept})
	} else {
		r.unnumber.add(entry{time, rank, kept})
	}
}

// entry is an operation by when it came (key) and by its grant's place (rank).
type entry struct {
	key, rank int64
	op        histories.Operation
}

// front keeps, of the entries of each worker, those that no other entry of that worker
// beats by an earlier key and a higher rank: keys and ranks grow along it.
type front struct {
	workers map[string][]entry
	best    []entry // the same over all workers: answers most questions at once
}

func (f *front) add(e entry) {
	if f.workers == nil {
		f.workers = map[string][]entry{}
	}
	f.best = insert(f.best, e)
	f.workers[e.op.Process] = insert(f.workers[e.op.Process], e)
}

func insert(list []entry, e entry) []entry {
	at := sort.Search(len(list), func(k int) bool { return list[k].key > e.key })
	if at > 0 && list[at-1].rank >= e.rank {
		return list
	}
	from, to := at, at
	for from > 0 && list[from-1].key == e.key {
		from--
	}
	for to < len(list) && list[to].rank <= e.rank {
		to++
	}
	list = append(list[:from], append([]entry{e}, list[to:]...)...)
	if len(list) > memory {
		list = list[len(list)-memory:]
	}
	return list
}

// find is an entry of another worker with a smaller key and a higher rank, nil if
// none is known.
func (f *front) find(key, rank int64, worker string) *entry {
	e := last(f.best, key)
	if e == nil || e.rank <= rank {
		return nil
	}
	if e.op.Process != worker {
		return e
	}
	for other, list := range f.workers {
		if other == worker {
			continue
		}
		if e := last(list, key); e != nil && e.rank > rank {
			return e
		}
	}
	return nil
}

// last is the entry with the highest rank of those with a smaller key.
func last(list []entry, key int64) *entry {
	at := sort.Search(len(list), func(k int) bool { return list[k].key >= key })
	if at == 0 {
		return nil
	}
	return &list[at-1]
}
