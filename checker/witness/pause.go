package witness

import (
	"cmp"
	"slices"
	"sort"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// findStop finds the stop of the older holder that explains its late operation, nil
// if none does. It began after the holder had asked for its grant, and before the
// answer to the late operation.
//
// The last one counts in which the lease ended, or in which the first successor was
// granted the lock: not necessarily the one that the late operation contradicts, since
// a holder that takes its time afterwards may find the second or third at work. If
// there is none, it is the longest one since the holder was last heard of, if somebody
// was being granted the lock, or the newer holder touched the resource, meanwhile.
//
// A stop after which the holder proved that it still held the lock is harmless, however
// many contenders were waiting.
func (t *teller) findStop() *model.Stop {
	if !t.ordered() {
		return nil
	}
	late := &t.h.Ops[t.late]
	proof, heard := t.proofs()
	var matters, longest *model.Stop
	length := int64(-1)
	rivals := t.rivals()
	for _, s := range t.b.StopsOf(t.older.Worker) {
		if s.From < t.older.Invoke || s.From > late.Return || s.To <= proof {
			continue
		}
		end, known := t.freed()
		first := t.older.Succeeded()
		if known && s.Overlaps(end, end) || s.Overlaps(first, first) {
			matters = s
		}
		if over := min(s.To, late.Return) - max(s.From, heard); over > length && over >= 0 && rivals.during(s) {
			longest, length = s, over
		}
	}
	return cmp.Or(matters, longest)
}

// stopBetween finds the stop that explains a lost update of two holders of whom
// nobody can say which was the older: without tokens, a successor that had been
// waiting overlaps its predecessor. Either the one that overwrote stood still between
// its read and its write, while the lost write was made; or the one whose write was
// lost stood still under its grant, while the other read.
func (t *teller) stopBetween() *model.Stop {
	if t.kind != lost || t.base < 0 || t.lost < 0 || t.write < 0 {
		return nil
	}
	base, gone, write := &t.h.Ops[t.base], &t.h.Ops[t.lost], &t.h.Ops[t.write]
	for _, s := range t.b.StopsOf(write.Process) {
		if s.From >= base.Return && s.From <= write.Return && s.Overlaps(gone.Invoke, gone.Return) {
			return s
		}
	}
	g := t.b.Own(t.lost)
	if g == nil {
		return nil
	}
	for _, s := range t.b.StopsOf(gone.Process) {
		if s.From >= g.Invoke && s.From <= gone.Return && s.Overlaps(base.Invoke, base.Return) {
			return s
		}
	}
	return nil
}

// proofs is when the older holder last proved that it held the lock, before its late
// operation: it sent a renewal that was answered ok, or anything of it was answered
// ok before its lease ended and anybody else was granted the lock. And it is when it
// was last heard of: the answer to its last operation before the late one.
func (t *teller) proofs() (proof, heard int64) {
	late := &t.h.Ops[t.late]
	until := t.older.Succeeded()
	if end, known := t.freed(); known {
		until = min(until, end)
	}
	for i := t.older.Acquire; i < t.late; i++ {
		o := &t.h.Ops[i]
		if t.b.Own(i) != t.older || o.Type != histories.OK || o.Return > late.Invoke || o.F == histories.Lost || o.F == histories.Release {
			continue
		}
		heard = max(heard, o.Return)
		switch {
		case o.F == histories.Renew:
			proof = max(proof, o.Invoke)
		case i != t.older.Acquire && o.Return < until && o.Held.Or(true):
			proof = max(proof, o.Return)
		}
	}
	return proof, heard
}

// spans are times in which something was under way, by their beginning.
type spans struct {
	begin []int64
	end   []int64 // the latest, of the first 1, 2, ... of them
}

// rivals are the acquires of newer grants of other workers, and the newer holder's
// touch.
func (t *teller) rivals() *spans {
	touch := &t.h.Ops[t.touch]
	list := [][2]int64{{touch.Invoke, touch.Return}}
	for _, g := range t.b.Grants {
		if g.Worker != t.older.Worker && model.Parted(t.older, g) {
			list = append(list, [2]int64{g.Invoke, g.Return})
		}
	}
	slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	s, latest := &spans{}, int64(0)
	for _, one := range list {
		latest = max(latest, one[1])
		s.begin, s.end = append(s.begin, one[0]), append(s.end, latest)
	}
	return s
}

// during tells whether one of them was under way during a stop.
func (s *spans) during(stop *model.Stop) bool {
	n := sort.Search(len(s.begin), func(k int) bool { return s.begin[k] > stop.To })
	return n > 0 && s.end[n-1] >= stop.From
}
