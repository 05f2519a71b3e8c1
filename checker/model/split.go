package model

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/leasehold-checker/leasehold/histories"
)

// Resources splits the history by resource, in the order of their names.
//
// The history is walked over twice, from its beginning to its end: to find out which
// resources there are and how large they are; and to fill them, each processor its
// share of the resources. Filling one after the other would jump over the history as
// often as there are resources, and wait for memory at every operation.
func (b *Book) Resources() []*Resource {
	list, of := b.findResources()
	shares := max(1, min(len(list), runtime.GOMAXPROCS(0)))
	var all sync.WaitGroup
	for share := range shares {
		all.Go(func() { fillShare(list, of, share, shares) })
	}
	all.Wait()
	out := make([]*Resource, len(list))
	for k, f := range list {
		out[k] = f.r
	}
	slices.SortFunc(out, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// findResources lists the resources, and gives every operation the place of its own
// in the list; -1 if it has none, or did not happen there.
func (b *Book) findResources() (list []*filler, of []int32) {
	of = make([]int32, len(b.History.Ops))
	byName := map[string]int32{}
	name, at := "", int32(-1) // of the last operation
	for i := range b.History.Ops {
		of[i] = -1
		o := &b.History.Ops[i]
		if !o.F.OnResource() || !o.ByWorker() {
			continue
		}
		if at < 0 || o.Resource != name {
			known := false
			if at, known = byName[o.Resource]; !known {
				at = int32(len(list))
				byName[o.Resource] = at
				list = append(list, newFiller(b, o.Resource))
			}
			name = o.Resource
		}
		switch f := list[at]; {
		case o.Type == histories.OK || o.Type == histories.Info && o.F == histories.Write:
			f.size++
		case o.F == histories.Write && o.Fenced():
		default:
			continue
		}
		of[i] = at
	}
	return list, of
}

// fillShare fills every resource whose place in the list is the share, counted by
// the number of shares.
func fillShare(list []*filler, of []int32, share, shares int) {
	for k := share; k < len(list); k += shares {
		list[k].begin()
	}
	for i, at := range of {
		if at >= 0 && int(at)%shares == share {
			list[at].add(i)
		}
	}
}

// filler takes the operations of a resource in, in their order.
type filler struct {
	r       *Resource
	size    int // accepted operations to come
	numbers map[string]int32
	workers map[string]int32
	reads   map[*Grant]int32 // the last read under a grant; a grant has one worker
}

func newFiller(b *Book, name string) *filler {
	return &filler{r: &Resource{Name: name, book: b, fenceAll: b.History.Header.Fence == histories.FenceAll}}
}

func (f *filler) begin() {
	const writes = 3 // operations for each
	f.r.Ops, f.r.ops = make([]int, 0, f.size), make([]Operation, 0, f.size)
	f.numbers, f.workers, f.reads = make(map[string]int32, f.size/writes+1), map[string]int32{}, map[*Grant]int32{}
	f.r.initial = f.number(f.r.book.History.Header.Initial[f.r.Name])
}

// number is a number for a value, from 0.
func (f *filler) number(value string) int32 {
	n, known := f.numbers[value]
	if !known {
		n = int32(len(f.r.values))
		f.numbers[value] = n
		f.r.values = append(f.r.values, value)
	}
	return n
}

// add takes in the operation at a place in History.Ops.
func (f *filler) add(at int) {
	h := &f.r.book.History.Ops[at]
	worker, known := f.workers[h.Process]
	if !known {
		worker = int32(len(f.workers))
		f.workers[h.Process] = worker
	}
	o := Operation{
		At: at, Worker: worker, Value: -1, Base: -1,
		Write: h.F == histories.Write, Read: h.F == histories.Read, Acked: h.Type == histories.OK,
		Invoke: h.Invoke, Answer: histories.Never, Grant: f.r.book.own[at], Under: f.r.book.under[at],
	}
	o.Counted = o.Grant != nil && (o.Write || f.r.fenceAll)
	if h.Type != histories.Info {
		o.Answer = h.Return
		o.Seq, o.Numbered = h.Seq.Get()
	}
	if h.Type == histories.Fail {
		o.Refused = true
		f.r.refused = append(f.r.refused, o)
		return
	}
	o.Index = int32(len(f.r.ops))
	if v, known := h.Value.Get(); known && (o.Write || o.Read) {
		o.Value = f.number(v)
	}
	f.base(&o)
	f.r.Ops, f.r.ops = append(f.r.Ops, at), append(f.r.ops, o)
}

// base: a write is based on the worker's last ok read under the grant under which the
// write was decided. Without a grant there is no base.
func (f *filler) base(o *Operation) {
	switch {
	case o.Read && o.Grant != nil:
		f.reads[o.Grant] = o.Index
	case o.Write && o.Under != nil:
		if read, known := f.reads[o.Under]; known {
			o.Base = read
		}
	}
}

// Only is the resource with some of its operations (places in History.Ops,
// ascending). All grants stay: with fewer grants, tokens that contradict real time
// could come to agree with it, and order what was not ordered before.
func (r *Resource) Only(ops []int) *Resource {
	f := newFiller(r.book, r.Name)
	f.size = len(ops)
	f.begin()
	for _, at := range ops {
		f.add(at)
	}
	return f.r
}
