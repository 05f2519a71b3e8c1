package timeline

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/leasehold-checker/leasehold/checker/internal/show"
	"github.com/leasehold-checker/leasehold/histories"
)

// index is a history with the questions answered that everything else here asks.
type index struct {
	h      *histories.History
	locks  []Lock
	lockOf []string // by place: the lock to whose picture an operation belongs; "" for all or none
	end    int64    // last time that anything was seen
}

func newIndex(h *histories.History) *index {
	x := &index{h: h, lockOf: make([]string, len(h.Ops)), end: h.Header.End.Or(0)}
	guards := histories.NewGuards(h)
	for i := range h.Ops {
		op := &h.Ops[i]
		x.end = max(x.end, op.Invoke)
		if op.Return != histories.Never {
			x.end = max(x.end, op.Return)
		}
		x.lockOf[i] = op.Lock
		if op.Lock == "" && op.Resource != "" {
			x.lockOf[i] = guards.Of(op.Resource)
		}
	}
	x.findLocks()
	return x
}

// findLocks lists the locks by name, and the workers and resources of each.
func (x *index) findLocks() {
	type users struct{ workers, resources map[string]bool }
	found := map[string]users{}
	for i := range x.h.Ops {
		op := &x.h.Ops[i]
		if op.Process == histories.Nemesis || (op.Process == histories.Store && op.Lock == "") {
			continue
		}
		u, ok := found[x.lockOf[i]]
		if !ok {
			u = users{map[string]bool{}, map[string]bool{}}
			found[x.lockOf[i]] = u
		}
		// Who only looks, under no grant, is no party to the lock: it gets no lane.
		if op.ByWorker() && (op.F != histories.Read || op.Grant != "" || op.Token.Known()) {
			u.workers[op.Process] = true
		}
		if op.Resource != "" {
			u.resources[op.Resource] = true
		}
	}
	for name, u := range found {
		x.locks = append(x.locks, Lock{Name: text(name), Workers: sorted(u.workers), Resources: sorted(u.resources)})
	}
	slices.SortFunc(x.locks, func(a, b Lock) int { return natural(a.Name, b.Name) })
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, text(name))
	}
	slices.SortFunc(names, natural)
	return names
}

// natural compares names so that w2 comes before w10.
func natural(a, b string) int {
	aHead, aNumber := splitNumber(a)
	bHead, bNumber := splitNumber(b)
	return cmp.Or(cmp.Compare(aHead, bHead), cmp.Compare(aNumber, bNumber), cmp.Compare(a, b))
}

func splitNumber(s string) (string, int) {
	i := len(s)
	for i > 0 && '0' <= s[i-1] && s[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(s[i:])
	if err != nil {
		return s, 0
	}
	return s[:i], n
}

// op returns the operation at a place, nil if there is none.
func (x *index) op(place int) *histories.Operation {
	if place < 0 || place >= len(x.h.Ops) {
		return nil
	}
	return &x.h.Ops[place]
}

// until is the Return of an operation, or the end of the history.
func (x *index) until(op *histories.Operation) int64 { return min(op.Return, max(x.end, op.Invoke)) }

// text makes a name or value from outside fit for the page. Names that are
// shortened to the same text share a lane.
func text(s string) string { return show.Cut(s, maxText) }
