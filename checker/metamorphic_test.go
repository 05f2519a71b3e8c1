package checker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

// change turns a history into another one about which the same can be said.
type change struct {
	name  string
	apply func(t *testing.T, r *rand.Rand, h *histories.History) *histories.History // nil: not this one
	// keeps tells of which properties the change keeps the verdict, the counts and,
	// times scale, the margin.
	keeps func(p checker.Property, h *histories.History) bool
	scale int64
	// uncounted: of overlapping grants whose order is not known, the later one in the
	// file is counted, so that counts depend on the order of ties.
	uncounted bool
	// unmeasured: margins are lengths of time, which the change does not keep.
	unmeasured bool
}

// everything: but for what progress makes of a word of the nemesis that it does not know,
// whose target is a part of free text.
func everything(p checker.Property, h *histories.History) bool {
	return p != checker.Progress || plainFaults(h)
}

func plainFaults(h *histories.History) bool {
	return !slices.ContainsFunc(h.Ops, func(o histories.Operation) bool {
		return o.Process == histories.Nemesis && o.F != histories.Pause && o.F != histories.Resume && o.F != histories.Kill
	})
}

// changes that keep verdicts.
func changes() []change {
	return []change{
		{name: "names", apply: rename, keeps: everything, scale: 1},
		{name: "ties", apply: shuffleTies, keeps: everything, scale: 1, uncounted: true},
		{name: "later", apply: shift, keeps: everything, scale: 1},
		{name: "larger tokens", apply: raiseTokens, keeps: everything, scale: 1},
		{name: "larger numbers", apply: raiseNumbers, keeps: everything, scale: 1},
		{name: "files", apply: split, keeps: everything, scale: 1, uncounted: true},
		{name: "JSON Lines", apply: throughJSONL, keeps: everything, scale: 1},
		{name: "text", apply: throughText, keeps: everything, scale: 1},
		{name: "another reader", apply: readAgain, keeps: everything, scale: 1},
		{name: "slower", apply: scale, keeps: scalable, scale: slowness},
		{name: "warped", apply: warp, keeps: untimed, scale: 1, unmeasured: true},
	}
}

const slowness = 7

// scalable: with times and ttls as many times as long, all stays as it is, but for
// progress, which allows a minute here and there.
func scalable(p checker.Property, _ *histories.History) bool { return p != checker.Progress }

// untimed: where only the order of times counts, their lengths do not. Without any ttl
// they count for progress alone.
func untimed(p checker.Property, h *histories.History) bool {
	switch p {
	case checker.StaleWrite, checker.LostUpdate, checker.TokenOrder, checker.Hold:
		return true
	case checker.Progress:
		return false
	}
	return !slices.ContainsFunc(h.Ops, func(o histories.Operation) bool { return o.EffectiveTTL() > 0 })
}

// TestSameVerdict: what does not matter changes nothing: names, the order in which
// simultaneous events stand in a file, where time begins, how large tokens and numbers
// are, files and formats, who else reads.
func TestSameVerdict(t *testing.T) {
	t.Parallel()
	n := rounds(1500)
	var seen tally
	t.Run("corpus", func(t *testing.T) {
		t.Parallel()
		all, err := corpus.All()
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range all {
			compareChanges(t, i, e.History, &seen)
		}
	})
	t.Run("simulated", func(t *testing.T) {
		inParts(t, n, func(t *testing.T, seed int) { compareChanges(t, seed, anyHistory(seed), &seen) })
	})
	t.Cleanup(func() {
		t.Log(seen.count)
		for _, c := range changes() {
			if seen.count[c.name] < n/4 {
				t.Errorf("%s: only %d histories", c.name, seen.count[c.name])
			}
		}
	})
}

// anyHistory is legal or, with a lie in it, perhaps not.
func anyHistory(seed int) *histories.History {
	if seed%2 == 0 {
		return honest(seed).History
	}
	lies := simulate.Lies()
	r := rand.New(rand.NewPCG(uint64(seed), 3))
	return simulate.Dishonest(uint64(seed), simulate.Any(r), lies[seed/2%len(lies)]).History
}

func compareChanges(t *testing.T, seed int, h *histories.History, seen *tally) {
	t.Helper()
	want := check(t, h)
	for k, c := range changes() {
		other := c.apply(t, rand.New(rand.NewPCG(uint64(seed), uint64(k))), h)
		if other == nil {
			continue
		}
		seen.add(c.name, 1)
		got := check(t, other)
		for i := range want.Properties {
			p := want.Properties[i]
			if !c.keeps(p.Property, h) {
				continue
			}
			if a, b := c.essence(&p, c.scale), c.essence(&got.Properties[i], 1); a != b {
				t.Errorf("seed %d, %s: %s became %s\n%s\n%s", seed, c.name, a, b, text(h), text(other))
			}
		}
	}
}

// essence is what is said of a property, but for names and stories.
func (c *change) essence(p *checker.PropertyResult, scale int64) string {
	if c.uncounted {
		return fmt.Sprintf("%s %s (%s)", p.Property, p.Verdict, p.Role)
	}
	margin := "none"
	if p.MarginNS != nil && !c.unmeasured {
		margin = fmt.Sprint(scale * *p.MarginNS)
	}
	return fmt.Sprintf("%s %s (%s), %d of %d, margin %s, cause %q", p.Property, p.Verdict, p.Role, p.Violations, p.Checked, margin, p.Cause)
}

// changed is a copy whose operations may be changed.
func changed(h *histories.History, each func(*histories.Operation)) *histories.History {
	c := *h
	c.Ops = slices.Clone(h.Ops)
	for i := range c.Ops {
		each(&c.Ops[i])
	}
	return &c
}

// onTimes maps all times.
func onTimes(h *histories.History, to func(int64) int64) *histories.History {
	c := changed(h, func(o *histories.Operation) {
		o.Invoke = to(o.Invoke)
		if o.Return != histories.Never {
			o.Return = to(o.Return)
		}
	})
	if end, known := h.Header.End.Get(); known {
		c.Header.End = histories.Some(to(end))
	}
	return c
}

func shift(_ *testing.T, r *rand.Rand, h *histories.History) *histories.History {
	by := 1 + r.Int64N(1e12)
	return onTimes(h, func(at int64) int64 { return at + by })
}

func scale(_ *testing.T, _ *rand.Rand, h *histories.History) *histories.History {
	c := onTimes(h, func(at int64) int64 { return slowness * at })
	for i := range c.Ops {
		c.Ops[i].TTL *= slowness
		c.Ops[i].TTLAsked *= slowness
	}
	return c
}

// warp keeps the order of times, and nothing else of them.
func warp(_ *testing.T, r *rand.Rand, h *histories.History) *histories.History {
	var all []int64
	onTimes(h, func(at int64) int64 { all = append(all, at); return at })
	slices.Sort(all)
	all = slices.Compact(all)
	to, at := map[int64]int64{}, int64(0)
	for _, old := range all {
		at += 1 + r.Int64N(1+int64(1)<<(4*r.IntN(8)))
		to[old] = at
	}
	return onTimes(h, func(at int64) int64 { return to[at] })
}

// shuffleTies: operations of several processes at one time stand in any order.
func shuffleTies(_ *testing.T, r *rand.Rand, h *histories.History) *histories.History {
	c := changed(h, func(*histories.Operation) {})
	for from := 0; from < len(c.Ops); {
		to := from
		for to < len(c.Ops) && c.Ops[to].Invoke == c.Ops[from].Invoke {
			to++
		}
		rank := map[string]int{}
		for i := from; i < to; i++ {
			rank[c.Ops[i].Process] = r.Int()
		}
		slices.SortStableFunc(c.Ops[from:to], func(a, b histories.Operation) int { return rank[a.Process] - rank[b.Process] })
		from = to
	}
	return c
}

// raise maps numbers upwards, keeps their order, and leaves gaps.
func raise(n int64) int64 { return 3*n + n*n*n/1000 + 11 }

func raiseTokens(_ *testing.T, _ *rand.Rand, h *histories.History) *histories.History {
	return changed(h, func(o *histories.Operation) {
		if n, known := o.Token.Get(); known {
			o.Token = histories.Some(raise(n))
		}
	})
}

func raiseNumbers(_ *testing.T, _ *rand.Rand, h *histories.History) *histories.History {
	return changed(h, func(o *histories.Operation) {
		if n, known := o.Seq.Get(); known {
			o.Seq = histories.Some(raise(n))
		}
	})
}

// readAgain: somebody without a grant reads what another one reads, at the same time,
// under the same number.
func readAgain(_ *testing.T, r *rand.Rand, h *histories.History) *histories.History {
	c := changed(h, func(*histories.Operation) {})
	c.Ops = nil
	for i := range h.Ops {
		o := h.Ops[i]
		c.Ops = append(c.Ops, o)
		if o.F == histories.Read && o.Type == histories.OK && r.IntN(3) == 0 {
			c.Ops = append(c.Ops, histories.Operation{
				Process: fmt.Sprintf("bystander%d", i), F: o.F, Type: o.Type, Invoke: o.Invoke, Return: o.Return,
				Lock: o.Lock, Resource: o.Resource, Value: o.Value, Seq: o.Seq,
			})
		}
	}
	if len(c.Ops) == len(h.Ops) {
		return nil
	}
	return c
}

// rename gives everything another name, so that names sort in another order.
func rename(_ *testing.T, r *rand.Rand, h *histories.History) *histories.History {
	names := map[string]string{"": "", histories.Nemesis: histories.Nemesis, histories.Store: histories.Store}
	other := func(name string) string {
		if names[name] == "" && name != "" {
			names[name] = fmt.Sprintf("n%x.%d", r.Uint32(), len(names))
		}
		return names[name]
	}
	given := map[string]bool{} // grants that have a name
	for i := range h.Ops {
		if o := &h.Ops[i]; o.F == histories.Acquire && o.Grant != "" {
			given[o.Process+" "+o.Grant] = true
		}
	}
	grant := func(o *histories.Operation, id string) string {
		number, counted := strings.CutPrefix(id, o.Process+".")
		if counted && !given[o.Process+" "+id] {
			return other(o.Process) + "." + number
		}
		return other(id)
	}
	c := changed(h, func(o *histories.Operation) {
		o.Grant, o.Under = grant(o, o.Grant), grant(o, o.Under)
		o.Process, o.Lock, o.Resource, o.Session, o.Target = other(o.Process), other(o.Lock), other(o.Resource), other(o.Session), other(o.Target)
		if v, known := o.Value.Get(); known {
			o.Value = histories.Some(other(v))
		}
	})
	c.Header.Guards, c.Header.Initial = nil, map[string]string{}
	for _, g := range h.Header.Guards {
		c.Header.Guards = append(c.Header.Guards, histories.Guard{Lock: other(g.Lock), Resource: other(g.Resource)})
	}
	for resource, v := range h.Header.Initial {
		c.Header.Initial[other(resource)] = other(v)
	}
	return c
}
