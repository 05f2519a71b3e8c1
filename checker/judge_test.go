package checker

import (
	"errors"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/model"
)

// A scan with proof of a violation against a search with an order is an internal
// error; a scan without proof says nothing.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    finding
		want bool
	}{
		"both say stale":              {finding{judgement: model.Judgement{Stale: model.Illegal, Lost: model.Legal}, stale: []int{1}}, false},
		"only the scan says stale":    {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}, stale: []int{1}}, true},
		"only the search says stale":  {finding{judgement: model.Judgement{Stale: model.Illegal, Lost: model.Legal}}, false},
		"the search gave up":          {finding{judgement: model.Judgement{Stale: model.Undecided, Lost: model.Undecided}, stale: []int{1}, orphans: []int{2}}, false},
		"only the scan says lost":     {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}, lost: []model.LostWrite{{}}}, true},
		"only the scan has an orphan": {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}, orphans: []int{3}}, true},
		"both say nothing":            {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.f.resource = &model.Resource{Name: "R"}
			if err := c.f.disagreement(); errors.Is(err, ErrDisagree) != c.want {
				t.Errorf("got %v, want an error: %v", err, c.want)
			}
		})
	}
}
