package witness

import (
	"slices"
	"strings"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// subHistory writes some operations of a history as one of its own, in the text
// notation. Every operation names its grant, since with fewer lines "the newest
// grant of the worker" may be another one. It is empty if the notation can't say
// it (a name with a blank in it).
func subHistory(b *model.Book, ops []int) string {
	var text strings.Builder
	if err := histories.FormatText(&text, partOf(b, ops)); err != nil {
		return ""
	}
	return text.String()
}

// partOf is some operations of a history as one of its own.
func partOf(b *model.Book, ops []int) *histories.History {
	h := b.History
	sub := &histories.History{Header: histories.Header{
		Fence: h.Header.Fence, Tokens: h.Header.Tokens, Guards: guards(b, ops), Initial: map[string]string{},
	}}
	for _, i := range withNamed(b, ops) {
		o := h.Ops[i]
		nameGrants(b, i, &o)
		if v, known := h.Header.Initial[o.Resource]; known {
			sub.Header.Initial[o.Resource] = v
		}
		sub.Ops = append(sub.Ops, o)
	}
	return sub
}

// withNamed adds the acquires of grants that were never granted and are named all the
// same: without them the name would be that of nothing.
func withNamed(b *model.Book, ops []int) []int {
	all := slices.Clone(ops)
	for _, i := range ops {
		o := &b.History.Ops[i]
		if !o.ByWorker() || o.F == histories.Acquire || o.Grant == "" || b.Own(i) != nil {
			continue
		}
		named := find(b.History, func(_ int, a *histories.Operation) bool {
			return a.F == histories.Acquire && a.Process == o.Process && a.Grant == o.Grant
		})
		if named >= 0 {
			all = append(all, named)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// guards are those of the locks and resources that the operations name.
func guards(b *model.Book, ops []int) []histories.Guard {
	named := map[string]bool{}
	for _, i := range ops {
		named[b.History.Ops[i].Resource] = true
		named[b.Lock(i)] = true
	}
	var kept []histories.Guard
	for _, g := range b.History.Header.Guards {
		if named[g.Resource] || named[g.Lock] {
			kept = append(kept, g)
		}
	}
	return kept
}

func nameGrants(b *model.Book, i int, o *histories.Operation) {
	if !o.ByWorker() {
		return
	}
	if o.F.OnResource() && len(b.History.Header.Guards) == 0 {
		o.Lock = b.Lock(i)
	}
	own, under := b.Own(i), b.Under(i)
	if own == nil {
		return
	}
	if o.F == histories.Acquire {
		o.GrantLate = o.Grant == "" || o.GrantLate
		o.Grant = own.ID
		return
	}
	o.Grant = own.ID
	if o.F == histories.Write && under != nil && under != own {
		o.Under = under.ID
	}
}
