package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/edn"
)

// ednFiles says for Jepsen's files in testdata what is invalid in them. Of those that
// are not valid otherwise, nothing can be said: unknown.
var ednFiles = map[string]struct {
	invalid []checker.Property
	verdict checker.Verdict
}{
	"fenced.edn":              {nil, checker.Valid},
	"fence-repeats.edn":       {[]checker.Property{checker.TokenOrder}, checker.Invalid},
	"two-holders.edn":         {[]checker.Property{checker.Exclusion}, checker.Invalid},
	"retired-holder.edn":      {nil, checker.Valid},
	"guarded-register.edn":    {[]checker.Property{checker.StaleWrite, checker.LostUpdate, checker.Exclusion}, checker.Invalid},
	"register.edn":            {nil, checker.Unknown},
	"register-stale-read.edn": {[]checker.Property{checker.LostUpdate}, checker.Invalid},
	"register-versions.edn":   {[]checker.Property{checker.LostUpdate}, checker.Invalid},
}

func TestJepsenFilesAreJudged(t *testing.T) {
	t.Parallel()
	const dir = "../../histories/edn/testdata"
	files, err := filepath.Glob(filepath.Join(dir, "*.edn"))
	if err != nil || len(files) != len(ednFiles) {
		t.Fatalf("%d files, but %d expectations: %v", len(files), len(ednFiles), err)
	}
	for _, file := range files {
		want := ednFiles[filepath.Base(file)]
		h, err := readHistory(nil, file)
		if err != nil {
			t.Error(err)
			continue
		}
		r, err := checker.Check(context.Background(), h, checker.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Verdict != want.verdict {
			t.Errorf("%s: %s (%s), want %s", file, r.Verdict, r.Why, want.verdict)
		}
		for _, p := range r.Properties {
			if got := p.Verdict == checker.Invalid; got != slices.Contains(want.invalid, p.Property) {
				t.Errorf("%s: %s is %s", file, p.Property, p.Verdict)
			}
		}
	}
}

// jepsen writes a history.edn of threads that do one thing after the other, as
// Jepsen's do, at random times.
type jepsen struct {
	rng     *rand.Rand
	text    strings.Builder
	time    int64
	threads []*thread
	step    func(*jepsen, *thread) // one thing: invoke, take effect, complete
}

// thread does what stands in todo, one entry at a time.
type thread struct {
	process int
	todo    []func()
}

func (j *jepsen) run(steps int) string {
	for range steps {
		j.time += j.rng.Int64N(3) // ties, too
		t := j.threads[j.rng.IntN(len(j.threads))]
		if len(t.todo) == 0 {
			j.step(j, t)
		}
		if len(t.todo) > 0 {
			t.todo[0]()
			t.todo = t.todo[1:]
		}
	}
	return j.text.String()
}

func (j *jepsen) event(t *thread, kind, f, value string) {
	fmt.Fprintf(&j.text, "{:type :%s, :f :%s, :value %s, :process %d, :time %d}\n", kind, f, value, t.process, j.time)
}

// call is one operation: effect gives the type and the value of its completion, and
// happens at one instant between the two events.
func (j *jepsen) call(t *thread, f, asked string, effect func() (kind, got string)) {
	var kind, got string
	t.todo = []func(){
		func() { j.event(t, "invoke", f, asked) },
		func() { kind, got = effect() },
		func() {
			if j.rng.IntN(8) == 0 {
				j.event(t, "info", f, asked)
				t.process += len(j.threads)
				return
			}
			j.event(t, kind, f, got)
		},
	}
	if j.rng.IntN(10) == 0 { // it never happens
		t.todo = []func(){t.todo[0], func() { j.event(t, "info", f, asked); t.process += len(j.threads) }}
	}
}

func newJepsen(seed uint64, threads int, step func(*jepsen, *thread)) *jepsen {
	j := &jepsen{rng: rand.New(rand.NewPCG(seed, 11)), step: step}
	for i := range threads {
		j.threads = append(j.threads, &thread{process: i})
	}
	return j
}

// honestRegisters is a step on registers that do what they should. What they hold at first
// stands nowhere.
func honestRegisters(keys int, first int) func(*jepsen, *thread) {
	held := map[int]int{}
	return func(j *jepsen, t *thread) {
		k := j.rng.IntN(keys)
		if _, known := held[k]; !known {
			held[k] = first
		}
		say := func(v string) string {
			if keys == 1 {
				return v
			}
			return fmt.Sprintf("[%d %s]", k, v)
		}
		from, to := j.rng.IntN(3), j.rng.IntN(3)
		switch j.rng.IntN(3) {
		case 0:
			j.call(t, "read", say("nil"), func() (string, string) { return "ok", say(strconv.Itoa(held[k])) })
		case 1:
			value := say(strconv.Itoa(to))
			j.call(t, "write", value, func() (string, string) { held[k] = to; return "ok", value })
		default:
			value := say(fmt.Sprintf("[%d %d]", from, to))
			j.call(t, "cas", value, func() (string, string) {
				if held[k] != from {
					return "fail", value
				}
				held[k] = to
				return "ok", value
			})
		}
	}
}

// honestLock is a step on a lock that does what it should: nobody gets it before it was
// released, or the client of its holder was closed.
func honestLock() func(*jepsen, *thread) {
	holder, token := -1, 0
	return func(j *jepsen, t *thread) {
		if holder >= 0 && !slices.ContainsFunc(j.threads, func(t *thread) bool { return t.process == holder }) {
			holder = -1 // retired
		}
		if j.rng.IntN(2) == 0 {
			j.call(t, "acquire", "nil", func() (string, string) {
				if holder >= 0 {
					return "fail", "nil"
				}
				holder, token = t.process, token+1
				return "ok", strconv.Itoa(token)
			})
			return
		}
		j.call(t, "release", "nil", func() (string, string) {
			if holder != t.process {
				return "fail", "nil"
			}
			holder = -1
			return "ok", "nil"
		})
	}
}

// No history of a database that does what it should is called invalid, whatever its
// registers held at first and whoever is retired.
func TestHonestJepsenFilesAreNeverInvalid(t *testing.T) {
	t.Parallel()
	rounds := uint64(1500)
	if n, err := strconv.ParseUint(os.Getenv("ROUNDS"), 10, 64); err == nil {
		rounds = n
	}
	judged := 0
	for seed := range rounds {
		var step func(*jepsen, *thread)
		switch seed % 3 {
		case 0:
			step = honestRegisters(1, int(seed/3%4))
		case 1:
			step = honestRegisters(2, int(seed/3%4))
		default:
			step = honestLock()
		}
		text := newJepsen(seed, 2+int(seed%4), step).run(30 + int(seed%50))
		r := judgeEDN(t, text)
		if r.Verdict == checker.Invalid {
			t.Fatalf("seed %d: %+v\n%s", seed, r.Properties, text)
		}
		if r.Verdict == checker.Valid {
			judged++
		}
	}
	if judged < int(rounds/10) {
		t.Errorf("only %d of %d were judged", judged, rounds)
	}
}

// Lies are found: an acknowledged read of what was overwritten, a lock given away.
func TestDishonestJepsenFilesAreInvalid(t *testing.T) {
	t.Parallel()
	caught := [2]int{}
	const rounds = 200
	for seed := range uint64(rounds) {
		n := 0
		liar := func(j *jepsen, t *thread) {
			n++
			value := strconv.Itoa(n)
			j.call(t, "write", value, func() (string, string) { return "ok", value })
			if n%2 == 0 {
				j.call(t, "read", "nil", func() (string, string) { return "ok", strconv.Itoa(max(1, n-j.rng.IntN(9))) })
			}
		}
		thief := func(j *jepsen, t *thread) {
			j.call(t, "acquire", "nil", func() (string, string) { return "ok", "nil" })
		}
		for i, step := range []func(*jepsen, *thread){liar, thief} {
			if r := judgeEDN(t, newJepsen(seed, 3, step).run(60)); r.Verdict == checker.Invalid {
				caught[i]++
			}
		}
	}
	if caught[0] < rounds/2 || caught[1] < rounds/2 {
		t.Errorf("caught %v of %d each", caught, rounds)
	}
}

func judgeEDN(t *testing.T, text string) checker.Result {
	t.Helper()
	h, err := edn.Decode(strings.NewReader(text), "f")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	// Those of leases would need a ttl; only what the gate of check looks at counts.
	r, err := checker.Check(t.Context(), h, checker.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := histories.Validate(h); err != nil {
		t.Fatal(err)
	}
	return r
}
