package exact

import (
	"context"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// LostByRegion decides lost-update region by region, with a cut at every place that
// allows one, whatever the history is like; and tells how many regions there were. The
// values must be explained.
func LostByRegion(ctx context.Context, r *model.Resource) (d model.Decision, regions int) {
	s := NewSolver(r)
	l := newLost(ctx, s, s.explain(ctx).Order)
	l.prepare()
	parts := l.regions(1)
	d, find := l.byRegion(parts)
	if d.Answer == model.Illegal {
		d.Core = find()
	}
	return d, len(parts)
}

// LostInLayers decides lost-update without looking first whether the order at hand,
// which explains the values, happens to keep the writes on their bases.
func LostInLayers(ctx context.Context, r *model.Resource) model.Decision {
	s := NewSolver(r)
	l := newLost(ctx, s, s.explain(ctx).Order)
	l.prepare()
	d, find := l.search()
	if d.Answer == model.Illegal {
		d.Core = find()
	}
	return d
}
