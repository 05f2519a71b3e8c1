package campaign

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/leasehold-checker/leasehold/histories"
)

const twoBlocks = `
version: 1
name: nightly
seed: 7
ttl: 3s
fences: [off, all]
cells:
  - locks: [etcd-mutex]
    guards: [none, check]
  - locks: [etcd-mutex]
    points: [before-write]
    ttl: 4s
    fences: [off]
    expect: violation
    floors: {conclusive: 2, operations: {write: 9}}
`

// A block has what stands outside of it, unless it says otherwise.
func TestBlocksInherit(t *testing.T) {
	t.Parallel()
	c, err := Parse("f.yaml", []byte(twoBlocks))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cells) != 2 || c.Name != "nightly" || c.Seed != 7 {
		t.Fatalf("read as %+v", c)
	}
	a, b := c.Cells[0], c.Cells[1]
	if a.TTL != 3*time.Second || b.TTL != 4*time.Second || a.Trials != Default().Trials {
		t.Errorf("ttl %s and %s, trials %d", a.TTL, b.TTL, a.Trials)
	}
	if !slices.Equal(a.Fences, []histories.Fence{"off", "all"}) || !slices.Equal(b.Fences, []histories.Fence{"off"}) {
		t.Errorf("fences %v and %v", a.Fences, b.Fences)
	}
	if a.Floors.Conclusive != nil || *b.Floors.Conclusive != 2 || b.Floors.Operations[histories.Write] != 9 {
		t.Errorf("floors %+v and %+v", a.Floors, b.Floors)
	}
	p, err := NewPlan(c, small())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, cell := range p.Cells {
		names = append(names, strings.TrimPrefix(cell.Name(), "etcd-mutex/register/")+" "+string(cell.Expect))
	}
	want := []string{"none/off/pause-checked violation", "none/all/pause-checked clean", "check/off/pause-checked violation",
		"check/all/pause-checked clean", "check/off/pause-before-write violation"}
	if !slices.Equal(names, want) {
		t.Errorf("cells %q, want %q", names, want)
	}
}

// What is written down as resolved is read back as it was.
func TestResolvedIsReadBack(t *testing.T) {
	t.Parallel()
	c, err := Parse("f.yaml", []byte(twoBlocks))
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	second, err := yaml.Marshal(again)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(second) {
		t.Errorf("first\n%s\nthen\n%s", text, second)
	}
}

// A mistake is named with file and line, in the words of the file.
func TestMistakesInFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":            {"version: 1\nttll: 2s\n", "f.yaml:2: ttll: unknown key"},
		"an unknown key in a block": {"version: 1\ncells:\n  - locks: [a]\n    gaurds: [none]\n", "f.yaml:4: gaurds: unknown key"},
		"a campaign key in a block": {"version: 1\ncells:\n  - seed: 4\n", "f.yaml:3: seed: unknown key"},
		"a key twice":               {"version: 1\nname: a\nname: b\n", "f.yaml:3"},
		"no duration":               {"version: 1\nttl: soon\n", "f.yaml:2: `soon` is no duration, such as 2s"},
		"no number":                 {"version: 1\ntrials: many\n", "f.yaml:2: `many` is no whole number"},
		"no list":                   {"version: 1\nlocks: {a: b}\n", "f.yaml:2"},
		"no yaml":                   {"version: 1\n\t- x\n", "f.yaml:2"},
		"no version":                {"name: a\n", "version 0: this leasehold reads version 1"},
		"another version":           {"version: 2\n", "version 2: this leasehold reads version 1"},
		"empty":                     {"", "f.yaml: it is empty"},
		"two documents":             {"version: 1\n---\nversion: 1\n", "more than one document"},
		"a wrong word":              {"version: 1\ninconclusive: shrug\n", "inconclusive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f.yaml", []byte(c.text))
			if err == nil || !IsUsage(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "campaign.") || strings.Contains(err.Error(), "yaml:") && !strings.Contains(err.Error(), "f.yaml:")) {
				t.Errorf("speaks of the code: %v", err)
			}
		})
	}
}

// Cells of one store follow each other, so that the budget is shared among them.
func TestBudget(t *testing.T) {
	t.Parallel()
	p, err := NewPlan(with(func(c *Config) {
		c.Fences, c.Budget = []histories.Fence{histories.FenceOff, histories.FenceAll}, 40*time.Second
	}), small())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Cells {
		if want := 20*time.Second - c.Pause; c.Settings.TimeLimit != want || c.Settings.Trials < 1000 || c.Floor() != 20 {
			t.Errorf("%s: limit %s, want %s; %d trials, floor %d", c.Name(), c.Settings.TimeLimit, want, c.Settings.Trials, c.Floor())
		}
	}
	_, err = NewPlan(with(func(c *Config) {
		c.Fences, c.Budget = []histories.Fence{histories.FenceOff, histories.FenceAll}, 9*time.Second
	}), small())
	if err == nil || !strings.Contains(err.Error(), "--budget 9s is too short: 2 cells") {
		t.Errorf("got %v", err)
	}
}
