package checker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// A scan with proof of a violation against a search with an order is an internal
// error; a scan without proof says nothing.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    finding
		want bool
	}{
		"both say stale":              {finding{judgement: model.Judgement{Stale: model.Illegal, Lost: model.Legal}, late: []int{1}}, false},
		"only the scan says stale":    {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}, late: []int{1}}, true},
		"only the search says stale":  {finding{judgement: model.Judgement{Stale: model.Illegal, Lost: model.Legal}}, false},
		"the search gave up":          {finding{judgement: model.Judgement{Stale: model.Undecided, Lost: model.Undecided}, late: []int{1}, scan: scan{orphans: []int{2}}}, false},
		"only the scan says lost":     {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}, scan: scan{lost: []model.LostWrite{{}}}}, true},
		"only the scan has an orphan": {finding{judgement: model.Judgement{Stale: model.Legal, Lost: model.Legal}, scan: scan{orphans: []int{3}}}, true},
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

// Trials that cannot all be counted in time are not taken for all there were.
func TestUncountedTrials(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("0 A acquire L ttl=10 -> ok token=1\n")
	for i := range 600 {
		fmt.Fprintf(&text, "%d nemesis pause A\n%d B acquire L -> ok token=%d\n%d B write R b%d -> ok\n%d nemesis resume A\n", 20+4*i, 21+4*i, i+2, 22+4*i, i, 23+4*i)
	}
	text.WriteString("9000 A write R a -> fail fenced\n")
	h, err := histories.ParseText(strings.NewReader(text.String()), "test")
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	if c, whole := cover(context.Background(), b, nil); !whole || len(c.Trials) != 600 || c.Conclusive != 600 {
		t.Errorf("%d trials, %d conclusive, whole: %v", len(c.Trials), c.Conclusive, whole)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if c, whole := cover(over, b, nil); whole || len(c.Trials) >= 600 {
		t.Errorf("%d trials, whole: %v", len(c.Trials), whole)
	}
}

// What could not even be looked at is unknown, for every property.
func TestOverdue(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[histories.Tokens]int{histories.TokensOrdered: 9, histories.TokensNone: 8} {
		r := overdue(&histories.History{Header: histories.Header{Tokens: tokens}})
		if r.Verdict != Unknown || r.Why == "" || len(r.Properties) != want {
			t.Errorf("%+v", r)
		}
		for _, p := range r.Properties {
			if p.Verdict != Unknown || p.Checked == 0 || p.Why == "" {
				t.Errorf("%+v", p)
			}
		}
	}
}
