package exact_test

import (
	"context"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

func compareLive(t *testing.T, l *exact.Ledger, s *exact.Plain, seen map[string]int) {
	t.Helper()
	got, want := exact.LiveGrant(context.Background(), l), s.LiveGrant().Invalid
	seen["live-grant "+verdict(want)]++
	if (len(got.Dead) > 0) != want || got.Checked < len(got.Dead) || got.Undecided {
		t.Errorf("live-grant: %d dead of %d, by the rules %s", len(got.Dead), got.Checked, verdict(want))
	}
	if m, known := got.Margin.Get(); known {
		seen["live-grant margin"]++
		if m < 0 {
			t.Errorf("live-grant: a margin of %d ns", m)
		}
	}
	for i := range got.Dead {
		compareDead(t, l.Book(), s, &got.Dead[i], seen)
	}
}

// compareDead: what is told of a dead grant is a fault by itself.
func compareDead(t *testing.T, b *model.Book, s *exact.Plain, d *exact.DeadGrant, seen map[string]int) {
	t.Helper()
	o := &b.History.Ops[d.Op]
	if b.Own(d.Op) != d.Grant || o.Type != histories.OK {
		t.Errorf("live-grant: operation %d was not answered to %s", d.Op, d.Grant.ID)
	}
	asked := o.Return // an acquire is dead if the lease ended before the answer
	kind := "acquired"
	if d.Renewed() {
		asked, kind = o.Invoke, "renewed"
		if o.F != histories.Renew || s.Released(d.Grant, d.Op, o.Return) {
			t.Errorf("live-grant: operation %d says nothing of a lease", d.Op)
		}
	}
	if d.Newer == nil {
		seen["dead by a line, "+kind]++
		line := &b.History.Ops[d.Line]
		if !slices.Contains(s.Lines(d.Grant), d.Line) || line.Return >= asked || line.Invoke < d.Grant.Invoke {
			t.Errorf("live-grant: line %d did not end %s before operation %d", d.Line, d.Grant.ID, d.Op)
		}
		return
	}
	seen["dead by a newer grant, "+kind]++
	if s.Older(d.Grant, d.Newer) {
		seen["dead by order, "+kind]++
	} else {
		seen["dead without order, "+kind]++
		if p := &b.History.Ops[d.Promise]; b.Own(d.Promise) != d.Newer || p.Return > o.Return || s.End(d.Newer, d.Promise) <= o.Return {
			t.Errorf("live-grant: operation %d promised %s nothing at the answer to operation %d", d.Promise, d.Newer.ID, d.Op)
		}
	}
	if d.Newer.Worker == d.Grant.Worker || d.Newer.Return >= asked || s.Older(d.Newer, d.Grant) || s.Broken(d.Grant, d.Newer) {
		t.Errorf("live-grant: %s is no newer legal grant than %s before operation %d", d.Newer.ID, d.Grant.ID, d.Op)
	}
}

func compareBelief(t *testing.T, l *exact.Ledger, s *exact.Plain, seen map[string]int) {
	t.Helper()
	got, want := exact.Belief(context.Background(), l), s.Belief()
	seen["belief "+verdict(want.Invalid)]++
	if (len(got.Untrue) > 0) != want.Invalid || (got.Unsure > 0) != want.Uncertain || got.Checked < len(got.Untrue) || got.Undecided {
		t.Errorf("belief: %d untrue of %d, %d unsure, by the rules %+v", len(got.Untrue), got.Checked, got.Unsure, want)
	}
	if got.Unsure > 0 {
		seen["unsure"]++
	}
	if m, known := got.Margin.Get(); known {
		seen["belief margin"]++
		if m < 0 {
			t.Errorf("belief: a margin of %d ns", m)
		}
	}
	for i := range got.Untrue {
		compareUntruth(t, l.Book(), s, &got.Untrue[i], seen)
	}
}

// compareUntruth: what is told of an untrue answer is so.
func compareUntruth(t *testing.T, b *model.Book, s *exact.Plain, u *exact.Untruth, seen map[string]int) {
	t.Helper()
	o := &b.History.Ops[u.Op]
	switch {
	case u.Grant == nil:
		seen["held without a grant"]++
		if by := &b.History.Ops[u.By]; by.F != histories.Acquire || by.Type != histories.Fail || by.Process != o.Process {
			t.Errorf("belief: operation %d is no refused acquire", u.By)
		}
		return
	case b.Own(u.Op) != u.Grant || b.Own(u.Promise) != u.Grant || u.End != s.End(u.Grant, u.Promise):
		t.Errorf("belief: operations %d and %d are not about %s", u.Op, u.Promise, u.Grant.ID)
	case !u.Held:
		seen["lost while promised"]++
		if u.End <= o.Return || b.History.Ops[u.Promise].Return >= o.Invoke || s.Excused(u.Grant, u.Promise, o.Return) {
			t.Errorf("belief: operation %d did not promise %s until after operation %d", u.Promise, u.Grant.ID, u.Op)
		}
		return
	}
	by := &b.History.Ops[u.By]
	seen["held after "+string(by.F)]++
	if by.Return > o.Invoke || by.Return < b.History.Ops[u.Promise].Invoke {
		t.Errorf("belief: operation %d ended nothing between operations %d and %d", u.By, u.Promise, u.Op)
	}
}
