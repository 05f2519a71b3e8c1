package checker_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/histories"
)

// rounds is how many random histories a test takes. ROUNDS sets another number for the
// differential tests, which usually take 100,000; the others keep the proportion.
func rounds(usual int) int {
	n, err := strconv.Atoi(os.Getenv("ROUNDS"))
	if err != nil {
		return usual
	}
	return max(1, usual*n/100_000)
}

// honest is a legal history of any shape.
func honest(seed int) simulate.Outcome {
	return simulate.Honest(uint64(seed), simulate.Any(rand.New(rand.NewPCG(uint64(seed), 1))))
}

// inParts runs a test on many seeds, in a few subtests side by side.
func inParts(t *testing.T, n int, test func(t *testing.T, seed int)) {
	t.Helper()
	const parts = 4
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < n && !t.Failed(); seed += parts {
				test(t, seed)
			}
		})
	}
}

// tally counts what a test has seen; a test that has not seen something proves nothing
// about it.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *tally) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[what] += n
}

// text is a history as a message shows it.
func text(h *histories.History) string {
	var b strings.Builder
	if histories.FormatText(&b, h) == nil {
		return b.String()
	}
	b.Reset()
	if err := histories.EncodeJSONL(&b, h); err != nil {
		return err.Error()
	}
	return b.String()
}

// TestHonest: no false alarm. Store, clients and resource are honest; answers get
// lost, requests land late, leases run out, workers are stopped and killed. No gate is
// invalid, but for one that rests on a line of which nobody knows what it is about.
func TestHonest(t *testing.T) {
	t.Parallel()
	n := rounds(10_000)
	var seen tally
	t.Run("seeds", func(t *testing.T) {
		inParts(t, n, func(t *testing.T, seed int) { judgeHonest(t, seed, &seen) })
	})
	t.Log(seen.count)
	for _, must := range []string{
		"expired", "revoked", "stolen", "killed", "session killed", "stopped", "refused", "refused release", "late renewal", "lost", "untrue belief",
		"unknown acquire", "unknown release", "unknown write", "unknown renewal", "nested", "held", "renewal while waiting", "two locks", "two resources",
		"no tokens", "numbers", "no numbers", "fence off", "fence writes", "fence all", "cut",
	} {
		if seen.count[must] < n/100 {
			t.Errorf("only %d histories with: %s", seen.count[must], must)
		}
	}
	// What cannot be decided is no false alarm, but a checker that decides nothing would
	// raise none.
	if doubtful := seen.count["ambiguous end line"]; doubtful > n/20 {
		t.Errorf("an end line accuses in %d of %d histories in which nobody knows whose it is", doubtful, n)
	}
	// Reports gate nothing. Where a worker has several holds of one lock, what its client
	// says of "the lock" may be about another one than the rules take it to be.
	if reported := seen.count["reported"]; reported > n/100 {
		t.Errorf("something is reported that is not so in %d of %d histories", reported, n)
	}
	if undecided := seen.count["undecided"]; undecided > n/20 {
		t.Errorf("a gate is undecided in %d of %d histories", undecided, n)
	}
}

func judgeHonest(t *testing.T, seed int, seen *tally) {
	t.Helper()
	o := honest(seed)
	r, err := checker.Check(context.Background(), o.History, checker.Options{})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text(o.History))
	}
	undecided := false
	for _, p := range r.Properties {
		switch {
		case p.Verdict != checker.Invalid || o.Untrue[string(p.Property)]:
		case p.Property == checker.LiveGrant && ambiguous(o.History):
			seen.add("ambiguous end line", 1)
		case p.Role == checker.Report:
			seen.add("reported", 1)
		default:
			t.Errorf("seed %d: %s is invalid: %+v\n%s", seed, p.Property, p.Witnesses, text(o.History))
		}
		undecided = undecided || p.Verdict == checker.Unknown && p.Role == checker.Gate
		seen.add(fmt.Sprintf("%s %s", p.Property, p.Verdict), 1)
	}
	if undecided {
		seen.add("undecided", 1)
	}
	for shape := range shapes(&o) {
		seen.add(shape, 1)
	}
}

// ambiguous tells whether the store was seen to end a lease of a worker that had asked
// for the lock more than once. Such a line names the worker and not the grant: it is taken
// to be about the oldest that may be open, and the store may have meant another one.
func ambiguous(h *histories.History) bool {
	type holder struct{ worker, lock string }
	asked := map[holder]int{}
	for i := range h.Ops {
		switch o := &h.Ops[i]; {
		case o.F == histories.Acquire: // also one that failed: it may have held the lock until then
			asked[holder{o.Process, o.Lock}]++
		case o.Process == histories.Store && asked[holder{o.Target, o.Lock}] > 1:
			return true
		}
	}
	return false
}

// shapes names what is in a history.
func shapes(o *simulate.Outcome) map[string]bool {
	has := map[string]bool{
		"untrue belief": o.Untrue["belief"], "two locks": o.Setting.Locks > 1, "two resources": o.Setting.Resources > 1,
		"no tokens": o.Setting.Tokens == simulate.NoTokens, "no numbers": o.Setting.Numbers == simulate.NoNumbers,
		"fence " + string(o.Setting.Fence): true, "cut": o.Setting.Cut,
	}
	waits := map[string]int64{} // by worker: until when its acquire is open
	for i := range o.History.Ops {
		op := &o.History.Ops[i]
		if op.F == histories.Acquire {
			waits[op.Process] = op.Return
		}
		has["renewal while waiting"] = has["renewal while waiting"] || op.F == histories.Renew && op.Type == histories.OK && op.Return < waits[op.Process]
		has[shape(op, o)] = true
	}
	for what, there := range has {
		if !there {
			delete(has, what)
		}
	}
	return has
}

// shape is what an operation stands for, "" if nothing in particular.
func shape(op *histories.Operation, o *simulate.Outcome) string {
	switch {
	case op.Process == histories.Store && op.F == histories.Expire && o.Setting.TTL[0] == 0:
		return "stolen"
	case op.Process == histories.Store:
		return string(op.F) + "d"
	case op.Process == histories.Nemesis:
		return map[histories.F]string{histories.Kill: "killed", histories.KillSession: "session killed", histories.Pause: "stopped"}[op.F]
	case op.Type == histories.Info && op.F == histories.Renew:
		return "unknown renewal"
	case op.Type == histories.Info:
		return "unknown " + string(op.F)
	case op.Fenced():
		return "refused"
	case op.Type == histories.Fail && op.F == histories.Renew:
		return "late renewal"
	case op.Type == histories.Fail && op.F == histories.Release:
		return "refused release"
	case op.Type == histories.Fail && op.F == histories.Acquire && op.Reason() == histories.ErrHeld:
		return "held"
	case op.F == histories.Acquire && op.HoldsLeft.Or(0) > 1:
		return "nested"
	case op.F == histories.Lost:
		return "lost"
	case op.Seq.Known():
		return "numbers"
	}
	return ""
}

// TestLies is the control: whoever is dishonest is found out, in a fair share of the
// histories in which the lie was told. (Often nobody was there to be harmed by it.)
func TestLies(t *testing.T) {
	t.Parallel()
	for _, lie := range simulate.Lies() {
		t.Run(string(lie), func(t *testing.T) {
			t.Parallel()
			told, found := 0, 0
			for seed := range uint64(rounds(600)) {
				s := simulate.Any(rand.New(rand.NewPCG(seed, 2)))
				o := simulate.Dishonest(seed, s, lie)
				if !o.Lied {
					continue
				}
				told++
				r, err := checker.Check(context.Background(), o.History, checker.Options{})
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, text(o.History))
				}
				if p := r.Property(checker.Property(lie)); p != nil && p.Verdict == checker.Invalid {
					found++
				}
			}
			t.Logf("found in %d of %d", found, told)
			least := told / 4
			if lie == simulate.Lie(checker.Progress) { // which is the most cautious of all
				least = told / 8
			}
			if told < rounds(600)/15 || found < least {
				t.Errorf("found in %d of %d histories with the lie", found, told)
			}
		})
	}
}
