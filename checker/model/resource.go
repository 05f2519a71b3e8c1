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
	ops      []Operation // as Ops
	refused  []Operation // writes that the resource refused because of their token; no part of any order
	turned   []int       // their places in History.Ops
	initial  int32
	values   []string // of int32 values
	fenceAll bool
}

// Operation is one operation as the specification sees it. Indices into the
// resource's operations are -1 for none; times are ns.
type Operation struct {
	At             int // place in History.Ops
	Index          int32
	Worker         int32
	Value          int32 // written or read; -1: a read or open without a value
	Write, Read    bool
	Counted        bool // the fence looks at it, and it has a grant
	Acked          bool // answered ok
	Refused        bool // because of its token; stands in Resource.refused only
	Numbered       bool
	Seq            int64
	Invoke, Answer int64 // answer is histories.Never if not acked
	Grant, Under   *Grant
	Base           int32 // the read on which a write is based
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
	r.ops = make([]Operation, 0, len(r.Ops))
	for _, at := range r.Ops {
		o := r.operation(at, workers)
		h := &r.book.History.Ops[at]
		if v, known := h.Value.Get(); known && (o.Write || o.Read) {
			o.Value = number(v)
		}
		o.Index = int32(len(r.ops))
		r.ops = append(r.ops, o)
	}
	for _, at := range r.turned {
		o := r.operation(at, workers)
		o.Refused, o.Answer = true, r.book.History.Ops[at].Return
		o.Seq, o.Numbered = r.book.History.Ops[at].Seq.Get()
		r.refused = append(r.refused, o)
	}
	r.findBases()
}

func (r *Resource) operation(at int, workers map[string]int32) Operation {
	h := &r.book.History.Ops[at]
	if _, known := workers[h.Process]; !known {
		workers[h.Process] = int32(len(workers))
	}
	o := Operation{
		At: at, Worker: workers[h.Process], Value: -1, Base: -1,
		Write: h.F == histories.Write, Read: h.F == histories.Read, Acked: h.Type == histories.OK,
		Invoke: h.Invoke, Answer: histories.Never, Grant: r.book.own[at], Under: r.book.under[at],
	}
	if o.Acked {
		o.Answer = h.Return
		o.Seq, o.Numbered = h.Seq.Get()
	}
	o.Counted = o.Grant != nil && (o.Write || r.fenceAll)
	return o
}

// findBases: a write is based on the worker's last ok read under the grant under
// which the write was decided. Without a grant there is no base.
func (r *Resource) findBases() {
	last := map[*Grant]int32{} // a grant has one worker
	for i := range r.ops {
		o := &r.ops[i]
		if o.Read && o.Grant != nil {
			last[o.Grant] = int32(i)
		} else if b, ok := last[o.Under]; ok && o.Write && o.Under != nil {
			o.Base = b
		}
	}
}

// Precedes is the order that the history itself gives: the resource's own numbers
// where both operations have one, and then nothing else; otherwise the worker's
// own order and real time. At equal numbers the write comes first.
//
// It is no order relation: a number may contradict two steps of real time.
func Precedes(a, o *Operation) bool {
	if a.Numbered && o.Numbered {
		return a.Seq < o.Seq || a.Seq == o.Seq && later(a) < later(o)
	}
	if !a.Acked {
		return false
	}
	if a.Worker == o.Worker {
		return a.At < o.At
	}
	return a.Answer < o.Invoke
}

// later sorts the operations of one number: its write made the state that reads,
// opens and refusals then saw.
func later(o *Operation) int {
	if o.Write && !o.Refused {
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
		case o.Write && o.Value >= 0:
			sources[o.Value]++
		case o.Read && o.Value >= 0:
			reads[o.Value] = append(reads[o.Value], int32(i))
		}
	}
	return reads, sources
}

// Operations are the accepted operations and the unanswered writes, by invocation
// (those of one worker in its own order). They are not to be changed.
func (r *Resource) Operations() []Operation { return r.ops }

// InitialValue is the number of the value that the resource had at the start.
func (r *Resource) InitialValue() int32 { return r.initial }

// NumberOfValues is one more than the largest [Operation.Value].
func (r *Resource) NumberOfValues() int { return len(r.values) }

// Contended tells whether operations of two grants at least touched the resource,
// and how many counted operations were accepted: the cases of stale-write.
func (r *Resource) Contended() (accepted int, contended bool) {
	var first *Grant
	for i := range r.ops {
		o := &r.ops[i]
		if !o.Counted || !o.Acked {
			continue
		}
		accepted++
		if first == nil {
			first = o.Grant
		}
		contended = contended || o.Grant != first
	}
	return accepted, contended
}

// Based counts the acknowledged writes that have a base: the cases of lost-update.
func (r *Resource) Based() int {
	n := 0
	for i := range r.ops {
		if r.ops[i].Acked && r.ops[i].Base >= 0 {
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
		if b := r.ops[i].Base; b >= 0 {
			bases[r.ops[i].At] = r.ops[b].At
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
		case o.Value < 0:
		case o.Write:
			s.writes[o.Value] = append(s.writes[o.Value], o.At)
		case o.Read:
			s.value[o.At] = o.Value
		}
	}
	return s
}
