package model

// Resource is what happened on one resource: the accepted operations, and the
// writes that were never answered. Refused operations did not happen; reads and
// opens without an answer have no effect that anybody could see.
type Resource struct {
	Name string
	Ops  []int // places in History.Ops, ascending

	book     *Book
	ops      []Operation // as Ops
	refused  []Operation // writes that the resource refused because of their token; no part of any order
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
