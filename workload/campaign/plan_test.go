package campaign

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// small is a catalog with the times of etcd, and a lock without tokens.
func small() Catalog {
	return Catalog{
		Locks: []Lock{
			{Name: "etcd-mutex", Store: "etcd", Tokens: true, LeastTTL: 2 * time.Second, TTLStep: time.Second, Slack: 500 * time.Millisecond, OwnThread: true},
			{Name: "blind", Store: "etcd"},
		},
		Resources: []Resource{{Name: "register"}},
		Stores: []Store{{Name: "etcd", Topologies: []store.Topology{"1", "3"}, Providers: []Provider{
			{Provision: store.Embedded, Topologies: []store.Topology{"1"}}, {Provision: store.Container}, {Provision: store.External},
		}}},
	}
}

func with(change func(*Config)) Config {
	c := Default()
	if change != nil {
		change(&c)
	}
	return c
}

// Which cells a configuration becomes, and what each is to show.
func TestCells(t *testing.T) {
	t.Parallel()
	off, writes, all := histories.FenceOff, histories.FenceWrites, histories.FenceAll
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string
	}{
		// Alone, an unfenced cell is held to the same standard as any.
		"off": {nil, []string{"check/off/pause-checked clean"}},
		// A fenced cell is never alone: without its control its silence means nothing.
		"all": {func(c *Config) { c.Fences = []histories.Fence{all} },
			[]string{"check/off/pause-checked violation control", "check/all/pause-checked clean"}},
		"off and all": {func(c *Config) { c.Fences = []histories.Fence{all, off} },
			[]string{"check/off/pause-checked violation control", "check/all/pause-checked clean"}},
		"two fences, one control": {func(c *Config) { c.Fences = []histories.Fence{all, writes} },
			[]string{"check/off/pause-checked violation control", "check/writes/pause-checked clean", "check/all/pause-checked clean"}},
		"without its control": {func(c *Config) { c.Fences = []histories.Fence{all}; c.NoControl = true },
			[]string{"check/all/pause-checked clean"}},
		// What is expected aloud holds for the cells that were asked for, and not for the control.
		"expected aloud": {func(c *Config) { c.Fences = []histories.Fence{all}; c.Expect = ExpectViolation },
			[]string{"check/off/pause-checked violation control", "check/all/pause-checked violation"}},
		"clean aloud": {func(c *Config) { c.Fences = []histories.Fence{off, all}; c.Expect = ExpectClean },
			[]string{"check/off/pause-checked clean", "check/all/pause-checked clean"}},
		"lists multiply": {func(c *Config) {
			c.Guards = []workload.Guard{workload.GuardNone, workload.GuardCheck}
			c.Points = []histories.Point{histories.PointChecked, histories.PointBeforeWrite}
		}, []string{"none/off/pause-checked clean", "none/off/pause-before-write clean", "check/off/pause-checked clean", "check/off/pause-before-write clean"}},
		"a pair beside the product": {func(c *Config) { c.Pairs = []string{"blind/register"} }, []string{"check/off/pause-checked clean", "blind/register/check/off/pause-checked clean"}},
		// A lock without tokens can't be fenced; among others it shows what that means.
		"one of them can't be fenced": {func(c *Config) {
			c.Locks = []string{"etcd-mutex", "blind"}
			c.Fences = []histories.Fence{off, all}
		}, []string{"check/off/pause-checked violation control", "check/all/pause-checked clean", "blind/register/check/off/pause-checked violation"}},
		"what is there twice counts once": {func(c *Config) { c.Guards = []workload.Guard{workload.GuardCheck, workload.GuardCheck} }, []string{"check/off/pause-checked clean"}},
		"random mode has no points":       {func(c *Config) { c.Mode = workload.Random }, []string{"check/off/pause-random clean"}},
		"until":                           {func(c *Config) { c.Until = UntilRead }, []string{"check/off/pause-checked-until-read clean"}},
		// Without a fault a control could not violate.
		"noop": {func(c *Config) { c.Fault = FaultNoop; c.Fences = []histories.Fence{off, all} },
			[]string{"check/off/noop clean", "check/all/noop clean"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := NewPlan(with(c.change), small())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, cell := range p.Cells {
				line := fmt.Sprintf("%s %s", strings.TrimPrefix(cell.Name(), "etcd-mutex/register/"), cell.Expect)
				if cell.Control {
					line += " control"
				}
				got = append(got, line)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// What is refused, and the reason that is given; and its neighbour, which is not.
func TestRefused(t *testing.T) {
	t.Parallel()
	point := func(g workload.Guard, p histories.Point) func(*Config) {
		return func(c *Config) { c.Guards, c.Points = []workload.Guard{g}, []histories.Point{p} }
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string // "": accepted
	}{
		"a pause one nanosecond too short": {func(c *Config) { c.Pause = 3*time.Second - 1 }, "needs 3s = 2s ttl + 500ms expiry slack"},
		"a pause just long enough":         {func(c *Config) { c.Pause = 3 * time.Second }, ""},
		"a ttl that the store raises":      {func(c *Config) { c.TTL = time.Second; c.Pause = 2 * time.Second }, "2s ttl (what the store makes of the 1s asked for)"},
		"a ttl that the store rounds":      {func(c *Config) { c.TTL = 2500 * time.Millisecond; c.Pause = 3500 * time.Millisecond }, "needs 4s = 3s ttl"},
		"until granted":                    {func(c *Config) { c.Until = UntilGranted }, "exposure"},
		"until granted, whatever comes":    {func(c *Config) { c.Until = UntilGranted; c.Expect = ExpectAny }, ""},
		"a long ttl":                       {func(c *Config) { c.TTL = 10 * time.Second; c.Pause = 10 * time.Second }, "needs 11s"},

		"ask, stopped before it":       {point(workload.GuardAsk, histories.PointRead), "asks the store after the pause"},
		"ask, stopped after it":        {point(workload.GuardAsk, histories.PointChecked), ""},
		"check, stopped before it":     {point(workload.GuardCheck, histories.PointRead), ""}, // the client may not have noticed yet
		"none, stopped anywhere":       {point(workload.GuardNone, histories.PointLocked), ""},
		"sent is a control":            {point(workload.GuardNone, histories.PointSent), "it is a control"},
		"after the write":              {point(workload.GuardNone, histories.PointBeforeRelease), "done by then"},
		"a point that is never passed": {point(workload.GuardNone, histories.PointBeforeRenew), "never passes this point"},
		"sent, whatever comes":         {func(c *Config) { point(workload.GuardNone, histories.PointSent)(c); c.Expect = ExpectAny }, ""},

		"a fence without tokens": {func(c *Config) { c.Locks = []string{"blind"}; c.Fences = []histories.Fence{histories.FenceAll} }, "issues no fencing tokens"},
		"no fence, no tokens":    {func(c *Config) { c.Locks = []string{"blind"} }, ""},
		"an unknown lock":        {func(c *Config) { c.Locks = []string{"x"} }, "unknown lock"},
		"a topology":             {func(c *Config) { c.Locks = []string{"etcd-mutex@3"} }, ""},
		"an unknown topology":    {func(c *Config) { c.Locks = []string{"etcd-mutex@5"} }, "runs on the topologies [1 3]"},
		"three of an embedded":   {func(c *Config) { c.Locks = []string{"etcd-mutex@3"}; c.Provision = store.Embedded }, "can't be had by --provision embedded: there are [container external]"},
		"external, and where":    {func(c *Config) { c.Provision = store.External; c.Endpoints = []string{"x"} }, ""},
		"external, but where":    {func(c *Config) { c.Provision = store.External }, "--endpoint says where"},
		"an unknown provision":   {func(c *Config) { c.Provision = "rented" }, "--provision"},
		"an unknown resource":    {func(c *Config) { c.Resources = []string{"x"} }, "unknown resource"},
		"an unknown guard":       {func(c *Config) { c.Guards = []workload.Guard{"x"} }, "--guard"},
		"an unknown fence":       {func(c *Config) { c.Fences = []histories.Fence{"x"} }, "--fence"},
		"an unknown point":       {func(c *Config) { c.Points = []histories.Point{"x"} }, "--point"},
		"an unknown fault":       {func(c *Config) { c.Fault = "x" }, "--fault"},
		"an unknown mode":        {func(c *Config) { c.Mode = "x" }, "--mode"},
		"an unknown until":       {func(c *Config) { c.Until = "x" }, "--until"},
		"one worker":             {func(c *Config) { c.Workers = 1 }, "one to take over"},
		"no trials":              {func(c *Config) { c.Trials = 0 }, "--trials"},
		"no lock":                {func(c *Config) { c.Locks = nil }, "no cell"},
		"no time":                {func(c *Config) { c.TimeLimit = 0 }, "--time-limit"},
		"negative work":          {func(c *Config) { c.Work = -1 }, "negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewPlan(with(c.change), small())
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !IsUsage(err) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCommandSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	c := with(func(c *Config) {
		c.Fences = []histories.Fence{histories.FenceOff, histories.FenceAll}
		c.Work, c.Seed, c.NoControl = 5*time.Millisecond, 9, true
	})
	if got, want := c.Command(), "leasehold run --fence off,all --work 5ms --no-control --seed 9"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
