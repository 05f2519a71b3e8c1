package locktest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/checker/report"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/external"
)

const (
	nameRegister = "register"
	nameStore    = "store" // the lock's own, whatever it is
	seedVariable = "LEASEHOLD_SEED"
)

// Run plays the trials and fails the test on a violation that was not expected, and
// when too little was shown to mean anything. The log then tells the violation step by
// step, and where its picture is: in the test's artifact folder with go test
// -artifacts, otherwise in a folder that is kept.
func Run(t *testing.T, c Config) {
	t.Helper()
	locks := registered.Load()
	if locks == nil {
		t.Fatal("locktest: TestMain does not call locktest.Main: the test binary could not run itself as worker processes")
	}
	connect, known := (*locks)[c.Lock]
	if !known {
		t.Fatalf("locktest: there is no lock %q among Main's Locks", c.Lock)
	}
	c = c.filled(t)
	began := time.Now()
	plan, cat, err := c.plan(connect)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	folder := artifacts(t)
	plan.Config.Out = folder.path
	progress := &progress{t: t, began: began, plan: plan}
	summary, err := campaign.Run(t.Context(), plan, campaign.Env{
		Catalog: cat, Starter: child.NewStarter(), Progress: progress, Version: "locktest",
		ExitCode: exitCode, Interrupted: func(context.Context) campaign.Outcome { return "" },
		Reproduce: fmt.Sprintf("%s=%d go test -run '%s$'", seedVariable, plan.Config.Seed, anchored(t.Name())),
	})
	if summary == nil {
		t.Fatalf("locktest: %v", err)
	}
	verdict(t, c, summary, progress, folder)
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
}

// filled is the configuration with its defaults.
func (c Config) filled(t *testing.T) Config {
	t.Helper()
	if c.Start != nil {
		endpoints, err := c.Start(t.Context())
		if err != nil {
			t.Fatalf("locktest: start store: %v", err)
		}
		c.Endpoints = endpoints
	}
	if len(c.Endpoints) == 0 {
		t.Fatal("locktest: neither Endpoints nor Start says where the lock's store is")
	}
	c.TTL, c.Late, c.Trials = cmp.Or(c.TTL, defaultTTL), cmp.Or(c.Late, defaultLate), cmp.Or(c.Trials, defaultTrials)
	if testing.Short() && c.Trials > shortTrials && c.Budget == 0 {
		t.Logf("-short: %d trials instead of %d", shortTrials, c.Trials)
		c.Trials = shortTrials
	}
	if text := os.Getenv(seedVariable); c.Seed == 0 && text != "" {
		seed, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("locktest: %s: %v", seedVariable, err)
		}
		c.Seed = seed
	}
	if c.Seed == 0 {
		c.Seed = time.Now().UnixNano() & 0xffffffff
	}
	return c
}

// plan makes a campaign of the configuration, with a catalog of one lock.
func (c Config) plan(connect New) (*campaign.Plan, campaign.Catalog, error) {
	cat := campaign.Catalog{
		Locks: []campaign.Lock{{Name: c.Lock, Store: nameStore, Tokens: c.Tokens, Connect: connect, Slack: c.Late, OwnThread: true}},
		Resources: []campaign.Resource{{
			Name: nameRegister, Connect: register.Dial, Start: register.Start,
		}},
		Stores: []campaign.Store{{
			Name: nameStore, Topologies: []store.Topology{"1"},
			Empty: func(context.Context, []string, string) error { return nil }, // the prefix is drawn for each run
			Providers: []campaign.Provider{{Provision: store.External, Start: func(ctx context.Context, _ *child.Starter, o store.Options) (store.Store, error) {
				return external.Connect(ctx, nameStore, o, func(context.Context, string) (string, error) { return "", nil })
			}}},
		}},
	}
	k := campaign.Default()
	k.Name, k.Seed, k.Budget = "locktest", c.Seed, c.Budget
	k.Locks, k.Resources = []string{c.Lock}, []string{nameRegister}
	k.Provision, k.Endpoints = store.External, c.Endpoints
	k.TTL, k.Trials, k.Expect = c.TTL, c.Trials, campaign.Expect(c.Expect)
	k.LockNames = min(k.LockNames, c.Trials)
	if c.Tokens {
		k.Fences = []histories.Fence{histories.FenceOff, histories.FenceAll}
	}
	if c.Guard != "" {
		k.Guards = []workload.Guard{c.Guard}
	}
	if c.Point != "" {
		k.Points = []histories.Point{c.Point}
	}
	plan, err := campaign.NewPlan(k, cat)
	return plan, cat, err
}

// anchored is a pattern that runs this test and no other. Slashes part its elements.
func anchored(name string) string { return "^" + strings.ReplaceAll(name, "/", "$/^") }

func exitCode(o campaign.Outcome) int {
	switch o {
	case campaign.Met:
		return 0
	case campaign.Violated:
		return 1
	case campaign.Inconclusive:
		return 2
	case campaign.Internal:
		return 70
	}
	return 3
}

// verdict says in the test's log what the summary says, and fails the test if it must.
func verdict(t *testing.T, c Config, s *report.Summary, p *progress, folder *artifactFolder) {
	t.Helper()
	shown := *s
	if s.ExitCode == 0 {
		shown.Dir = "" // it goes with the test
	}
	var text bytes.Buffer
	if err := report.WriteText(&text, shown, report.TextOptions{}); err != nil {
		t.Errorf("locktest: %v", err)
	}
	if at := p.firstStale(); at > 0 {
		fmt.Fprintf(&text, "A stale write was proven %.1f s after the test began.\n", at.Seconds())
	}
	switch s.ExitCode {
	case 0:
		t.Logf("\n%s", text.String())
		return
	case 2:
		if c.Inconclusive {
			t.Logf("INCONCLUSIVE, and passed only because Config.Inconclusive says so:\n%s", text.String())
			return
		}
	}
	folder.keep()
	t.Errorf("\n%s", text.String())
}
