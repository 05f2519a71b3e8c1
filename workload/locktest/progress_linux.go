package locktest

import (
	"sync"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/campaign"
)

// progress logs what goes on, and when the first stale write was seen.
type progress struct {
	t     *testing.T
	began time.Time
	plan  *campaign.Plan

	mu    sync.Mutex
	stale time.Duration
}

func (p *progress) Begin(run, _ string) {
	p.t.Logf("run directory %s, seed %d", run, p.plan.Config.Seed)
}
func (p *progress) Phase(cell, what string)              { p.t.Logf("%s: %s", cell, what) }
func (p *progress) Trial(string)                         {}
func (p *progress) End(string, campaign.Outcome, string) {}

func (p *progress) Note(text string) { p.t.Log(text) }

func (p *progress) Stale(string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale == 0 {
		p.stale = time.Since(p.began)
	}
}

func (p *progress) firstStale() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stale
}
