package model

import (
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// Resource is what happened on one resource: the accepted operations, and the
// writes that were never answered. Refused operations did not happen; reads and
// opens without an answer have no effect that anybody could see.
type Resource struct {
	Name string
	Ops  []int // places in History.Ops, ascending

	book     *Book
	ops      []operation // as Ops
	refused  []operation // writes that the resource refused because of their token; no part of any order
	turned   []int       // their places in History.Ops
	initial  int32
	values   []string // of int32 values
	fenceAll bool
}

// operation is one operation as the specification sees it. Indices into the
// resource's operations are -1 for none.
type operation struct {
	at             int // place in History.Ops
	index          int32
	worker         int32
	value          int32 // written or read; -1: a read or open without a value
	write, read    bool
	counted        bool // the fence looks at it, and it has a grant
	acked          bool // answered ok
	refused        bool // because of its token; stands in Resource.refused only
	numbered       bool
	seq            int64
	invoke, answer int64 // answer is histories.Never if not acked
	grant, under   *Grant
	base           int32 // the read on which a write is based
}

// Resources splits the history by resource, in the order of their names.
func (b *Book) Resources() []*Resource {
	byName := map[string]*Resource{}
	var list []*Resource
	for i := range b.History.Ops {
		o := &b.History.Ops[i]
		if !o.ByWorker() || !o.F.OnResource() {
			continue
		}
		r := byName[o.Resource]
		if r == nil {
			r = &Resource{Name: o.Resource, book: b, fenceAll: b.History.Header.Fence == histories.FenceAll}
			byName[o.Resource] = r
			list = append(list, r)
		}
		if o.Type == histories.OK || o.Type == histories.Info && o.F == histories.Write {
			r.Ops = append(r.Ops, i)
		}
		if o.F == histories.Write && o.Fenced() {
			r.turned = append(r.turned, i)
		}
	}
	for _, r := range list {
		r.fill()
	}
	slices.SortFunc(list, func(a, b *Resource) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}

// Only is the resource with some of its operations (places in History.Ops,
// ascending). All grants stay: with fewer grants, tokens that contradict real time
// could come to agree with it, and order what was not ordered before.
func (r *Resource) Only(ops []int) *Resource {
	part := &Resource{Name: r.Name, Ops: ops, book: r.book, fenceAll: r.fenceAll}
	part.fill()
	return part
}

func (r *Resource) fill() {
	intern := map[string]int32{}
	number := func(v string) int32 {
		id, known := intern[v]
		if !known {
			id = int32(len(r.values))
			intern[v] = id
			r.values = append(r.values, v)
		}
		return id
	}
	r.initial = number(r.book.History.Header.Initial[r.Name])
	workers := map[string]int32{}
	r.ops = make([]operation, 0, len(r.Ops))
	for _, at := range r.Ops {
		o := r.operation(at, workers)
		h := &r.book.History.Ops[at]
		if v, known := h.Value.Get(); known && (o.write || o.read) {
			o.value = number(v)
		}
		o.index = int32(len(r.ops))
		r.ops = append(r.ops, o)
	}
	for _, at := range r.turned {
		o := r.operation(at, workers)
		o.refused, o.answer = true, r.book.History.Ops[at].Return
		o.seq, o.numbered = r.book.History.Ops[at].Seq.Get()
		r.refused = append(r.refused, o)
	}
	r.findBases()
}

func (r *Resource) operation(at int, workers map[string]int32) operation {
	h := &r.book.History.Ops[at]
	if _, known := workers[h.Process]; !known {
		workers[h.Process] = int32(len(workers))
	}
	o := operation{
		at: at, worker: workers[h.Process], value: -1, base: -1,
		write: h.F == histories.Write, read: h.F == histories.Read, acked: h.Type == histories.OK,
		invoke: h.Invoke, answer: histories.Never, grant: r.book.own[at], under: r.book.under[at],
	}
	if o.acked {
		o.answer = h.Return
		o.seq, o.numbered = h.Seq.Get()
	}
	o.counted = o.grant != nil && (o.write || r.fenceAll)
	return o
}

// findBases: a write is based on the worker's last ok read under the grant under
// which the write was decided. Without a grant there is no base.
func (r *Resource) findBases() {
	last := map[*Grant]int32{} // a grant has one worker
	for i := range r.ops {
		o := &r.ops[i]
		if o.read && o.grant != nil {
			last[o.grant] = int32(i)
		} else if b, ok := last[o.under]; ok && o.write && o.under != nil {
			o.base = b
		}
	}
}

// precedes is the order that the history itself gives: the resource's own numbers
// where both operations have one, and then nothing else; otherwise the worker's
// own order and real time. At equal numbers the write comes first.
//
// It is no order relation: a number may contradict two steps of real time.
func precedes(a, o *operation) bool {
	if a.numbered && o.numbered {
		return a.seq < o.seq || a.seq == o.seq && later(a) < later(o)
	}
	if !a.acked {
		return false
	}
	if a.worker == o.worker {
		return a.at < o.at
	}
	return a.answer < o.invoke
}

// later sorts the operations of one number: its write made the state that reads,
// opens and refusals then saw.
func later(o *operation) int {
	if o.write && !o.refused {
		return 0
	}
	return 1
}

// readers lists, by written value, the reads that returned it; and by value how
// many writes (or the initial value) it may come from.
func (r *Resource) readers() (reads [][]int32, sources []int) {
	reads, sources = make([][]int32, len(r.values)), make([]int, len(r.values))
	sources[r.initial]++
	for i := range r.ops {
		o := &r.ops[i]
		switch {
		case o.write && o.value >= 0:
			sources[o.value]++
		case o.read && o.value >= 0:
			reads[o.value] = append(reads[o.value], int32(i))
		}
	}
	return reads, sources
}

// Contended tells whether operations of two grants at least touched the resource,
// and how many counted operations were accepted: the cases of stale-write.
func (r *Resource) Contended() (accepted int, contended bool) {
	var first *Grant
	for i := range r.ops {
		o := &r.ops[i]
		if !o.counted || !o.acked {
			continue
		}
		accepted++
		if first == nil {
			first = o.grant
		}
		contended = contended || o.grant != first
	}
	return accepted, contended
}

// Based counts the acknowledged writes that have a base: the cases of lost-update.
func (r *Resource) Based() int {
	n := 0
	for i := range r.ops {
		if r.ops[i].acked && r.ops[i].base >= 0 {
			n++
		}
	}
	return n
}

// Bases lists, for every write that has one, the read on which it is based; both
// are places in History.Ops.
func (r *Resource) Bases() map[int]int {
	bases := map[int]int{}
	for i := range r.ops {
		if b := r.ops[i].base; b >= 0 {
			bases[r.ops[i].at] = r.ops[b].at
		}
	}
	return bases
}

// Sources knows, for every read of a value, the writes of that value. Reads of one
// value share them.
type Sources struct {
	value  map[int]int32 // by read
	writes [][]int       // by value
}

// Value is a number for the value that a read (a place in History.Ops) returned;
// false if it returned none, or is no read.
func (s *Sources) Value(read int) (int32, bool) {
	v, known := s.value[read]
	return v, known
}

// Writes are the writes of a value; places in History.Ops.
func (s *Sources) Writes(value int32) []int { return s.writes[value] }

// Sources finds the writes that reads may come from.
func (r *Resource) Sources() *Sources {
	s := &Sources{value: map[int]int32{}, writes: make([][]int, len(r.values))}
	for i := range r.ops {
		switch o := &r.ops[i]; {
		case o.value < 0:
		case o.write:
			s.writes[o.value] = append(s.writes[o.value], o.at)
		case o.read:
			s.value[o.at] = o.value
		}
	}
	return s
}
