package model

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// LostWrite is an acknowledged write that overwrote another worker's acknowledged
// write without having seen it: that one came after the read on which this write is
// based, and before this write. All are places in History.Ops.
type LostWrite struct {
	Base  int // the read
	Lost  int // the acknowledged write of another worker that is gone: the last such one
	Write int // the acknowledged write that is based on the read
}

// perWrite bounds how far back is looked from one write: a worker that comes back
// after a day has overwritten everything since.
const perWrite = 1000

// LostWrites finds the writes that overwrote something unseen, as far as the
// history itself shows it, without a search; in their order. What a write destroyed
// is counted once: the write before it may have been built on a hundred others. They
// are not all if the context ends before.
func (r *Resource) LostWrites(ctx context.Context) []LostWrite {
	var out []LostWrite
	look := work{ctx: ctx}
	lists := r.acknowledged()
	for i := range r.ops {
		w := &r.ops[i]
		if !w.Acked || w.Base < 0 {
			continue
		}
		base := &r.ops[w.Base]
		for _, list := range lists {
			if y := list.lostBetween(&look, r, base, w); y != nil {
				out = append(out, LostWrite{Base: base.At, Lost: y.At, Write: w.At})
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b LostWrite) int { return cmp.Compare(a.Write, b.Write) })
	return out
}

// writeList are acknowledged writes in one order: by number, or by answer.
type writeList struct {
	byNumber bool
	ops      []int32
	run      []int // first of the run of one worker's writes in which this one lies
}

func (r *Resource) acknowledged() []*writeList {
	numbers, answers := &writeList{byNumber: true}, &writeList{}
	for i := range r.ops {
		o := &r.ops[i]
		if !o.Write || !o.Acked {
			continue
		}
		answers.ops = append(answers.ops, int32(i))
		if o.Numbered {
			numbers.ops = append(numbers.ops, int32(i))
		}
	}
	slices.SortStableFunc(numbers.ops, func(a, b int32) int { return cmp.Compare(r.ops[a].Seq, r.ops[b].Seq) })
	slices.SortStableFunc(answers.ops, func(a, b int32) int { return cmp.Compare(r.ops[a].Answer, r.ops[b].Answer) })
	for _, l := range []*writeList{numbers, answers} {
		l.run = make([]int, len(l.ops))
		for k := range l.ops {
			if l.run[k] = k; k > 0 && r.ops[l.ops[k]].Worker == r.ops[l.ops[k-1]].Worker {
				l.run[k] = l.run[k-1]
			}
		}
	}
	return []*writeList{numbers, answers}
}

// lostBetween walks back from write w over the writes that came before it, until
// its base, and skips runs of the worker's own. It returns the first that lies
// certainly between, nil if there is none.
func (l *writeList) lostBetween(look *work, r *Resource, base, w *Operation) *Operation {
	if l.byNumber && !w.Numbered {
		return nil
	}
	k := sort.Search(len(l.ops), func(k int) bool {
		if l.byNumber {
			return r.ops[l.ops[k]].Seq >= w.Seq
		}
		return r.ops[l.ops[k]].Answer >= w.Invoke
	}) - 1
	for n := 0; k >= 0 && n < perWrite && !look.done(); n++ {
		y := &r.ops[l.ops[k]]
		if y.Worker == w.Worker {
			k = l.run[k] - 1
			continue
		}
		before := y.Answer <= base.Answer
		if l.byNumber && base.Numbered {
			before = y.Seq <= base.Seq
		}
		if before {
			return nil
		}
		if Precedes(base, y) && Precedes(y, w) {
			return y
		}
		k--
	}
	return nil
}

// Orphans are reads that returned a value which nobody wrote and which was not
// there at the start: places in History.Ops.
func (r *Resource) Orphans() []int {
	_, sources := r.readers()
	var out []int
	for i := range r.ops {
		if o := &r.ops[i]; o.Read && o.Value >= 0 && sources[o.Value] == 0 {
			out = append(out, o.At)
		}
	}
	return out
}
