package edn

import (
	"cmp"

	"github.com/leasehold-checker/leasehold/histories"
)

// initial finds what the registers held at first, or leaves out the reads that may
// have seen it: those before the first acknowledged write.
func (b *builder) initial(ops []registerOp) []registerOp {
	type content struct{ key, value string }
	written := map[content]int64{} // when it was first invoked
	firstAck := map[string]int64{} // register -> when a write was first answered
	for i := range ops {
		o := &ops[i]
		if o.written.Known() && o.kind != histories.Fail {
			k := content{o.key, o.written.Or("")}
			written[k] = min(o.from, orNever(written, k))
		}
		if o.written.Known() && o.kind == histories.OK {
			firstAck[o.key] = min(o.to, orNever(firstAck, o.key))
		}
	}
	first := map[string]*registerOp{} // the earliest read of what nobody had written
	for i := range ops {
		o := &ops[i]
		if !o.read.Known() || o.kind != histories.OK || orNever(written, content{o.key, o.read.Or("")}) <= o.to {
			continue
		}
		if f := first[o.key]; f == nil || cmp.Or(cmp.Compare(o.to, f.to), cmp.Compare(o.line, f.line)) < 0 {
			first[o.key] = o
		}
	}
	for key, o := range first {
		if value := o.read.Or(""); value != "" {
			if b.h.Header.Initial == nil {
				b.h.Header.Initial = map[string]string{}
			}
			b.h.Header.Initial[key] = value
		}
	}
	return b.withoutEarly(ops, func(o *registerOp) bool { return first[o.key] == nil && o.from <= orNever(firstAck, o.key) })
}

func orNever[K comparable](times map[K]int64, k K) int64 {
	if t, known := times[k]; known {
		return t
	}
	return histories.Never
}

// withoutEarly leaves out reads, and forgets what a compare-and-set has read.
func (b *builder) withoutEarly(ops []registerOp, early func(*registerOp) bool) []registerOp {
	kept, dropped := ops[:0], 0
	for i := range ops {
		o := ops[i]
		if o.kind == histories.OK && o.read.Known() && early(&o) {
			dropped++
			o.read = histories.Option[string]{}
			if o.f == "read" {
				continue
			}
		}
		kept = append(kept, o)
	}
	if dropped > 0 {
		b.warn("%d reads may have come before the first acknowledged write, and what the register held then is unknown: they are left out", dropped)
	}
	return kept
}
