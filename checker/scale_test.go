//go:build unix

package checker_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/internal/simulate"
	"github.com/leasehold-checker/leasehold/histories"
)

// scaleOf is how many operations the histories of TestScale have; SCALE sets another number,
// such as 1000000.
func scaleOf() int {
	if n, err := strconv.Atoi(os.Getenv("SCALE")); err == nil {
		return n
	}
	return 20_000
}

// TestScale: histories of any length have an answer, in time and memory that grow with the
// length and not with its square. The bounds are wide; what a square would cost is far
// beyond them.
func TestScale(t *testing.T) {
	n := scaleOf()
	const (
		perOperation = 200 * time.Microsecond // of a processor, with the race detector
		bytesEach    = 4096
	)
	for _, test := range []struct {
		name string
		make func(n int) *histories.History
		want checker.Verdict
	}{
		{"one lock", func(n int) *histories.History { return simulate.Campaign(simulate.One(n, 20)) }, checker.Valid},
		{"no rest", func(n int) *histories.History { return simulate.Campaign(simulate.Busy(n, 50)) }, checker.Valid},
		{"two hundred locks", func(n int) *histories.History { return simulate.Campaign(simulate.Many(n)) }, checker.Valid},
		{"a stale write", func(n int) *histories.History {
			p := simulate.One(n, 20)
			p.Plant = simulate.StaleWrite
			return simulate.Campaign(p)
		}, checker.Invalid},
		{"a lost update", func(n int) *histories.History {
			p := simulate.Many(n)
			p.Plant = simulate.LostUpdate
			return simulate.Campaign(p)
		}, checker.Invalid},
		{"a process for each operation", strangers, checker.Invalid},
		{"a grant for each operation", takers, checker.Valid},
		{"nothing is answered", silence, checker.Unknown},
		{"half of it is answered", half, checker.Unknown}, // one grant, and nothing written on what was read
		{"everything at once", crowd, checker.Valid},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := test.make(n)
			runtime.GC()
			before := heap()
			start, busy := time.Now(), processor(t)
			r, err := checker.Check(context.Background(), h, checker.Options{Timeout: 10 * time.Minute})
			took, used, more := time.Since(start), processor(t)-busy, heap()-before
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d operations: %s (%s) after %s and %s of processors, %d MB", len(h.Ops), r.Verdict, r.Why, took.Round(time.Millisecond), used.Round(time.Millisecond), more>>20)
			if r.Verdict != test.want {
				t.Errorf("%s (%s), want %s", r.Verdict, r.Why, test.want)
			}
			if most := 5*time.Second + time.Duration(n)*perOperation; used > most {
				t.Errorf("%s of processors, more than %s", used, most)
			}
			if most := int64(256<<20 + n*bytesEach); more > most {
				t.Errorf("%d MB, more than %d", more>>20, most>>20)
			}
		})
	}
}

// filled is a history of one lock and one resource.
func filled(n int, each func(i int, o *histories.Operation)) *histories.History {
	h := &histories.History{Header: histories.Header{
		Fence: histories.FenceWrites, Tokens: histories.TokensOrdered, Guards: []histories.Guard{{Lock: "L", Resource: "R"}},
	}}
	h.Ops = make([]histories.Operation, n)
	for i := range h.Ops {
		o := &h.Ops[i]
		o.Process, o.ID, o.Type, o.Invoke, o.Return = "A", int64(i), histories.OK, int64(i)*1000, int64(i)*1000+500
		each(i, o)
		if o.F == histories.Write {
			o.Resource, o.Value = "R", histories.Some(fmt.Sprint("v", i))
		}
	}
	return h
}

// strangers: each process writes once, without a grant, and is never seen again.
func strangers(n int) *histories.History {
	return filled(n, func(i int, o *histories.Operation) { o.Process, o.F = fmt.Sprint("W", i), histories.Write })
}

// takers: each process takes the lock and writes.
func takers(n int) *histories.History {
	return filled(n, func(i int, o *histories.Operation) {
		o.Process = fmt.Sprint("W", i/3)
		switch i % 3 {
		case 0:
			o.F, o.Lock, o.Token, o.TTLAsked = histories.Acquire, "L", histories.Some(int64(i)), 1000
		case 1:
			o.F, o.Token = histories.Write, histories.Some(int64(i-1))
		default:
			o.F, o.Lock = histories.Release, "L"
		}
	})
}

// silence: writes of many, and none has an answer.
func silence(n int) *histories.History {
	return filled(n, func(i int, o *histories.Operation) {
		o.Process, o.F, o.Type, o.Return = fmt.Sprint("W", i), histories.Write, histories.Info, histories.Never
	})
}

// half: one worker has the lock and gets an answer to every other write; another one reads
// what it sees.
func half(n int) *histories.History {
	return filled(n, func(i int, o *histories.Operation) {
		switch {
		case i == 0:
			o.F, o.Lock, o.Token = histories.Acquire, "L", histories.Some(int64(1))
		case i == 1:
			o.Process, o.F, o.Lock, o.Type, o.Error = "B", histories.Acquire, "L", histories.Fail, histories.ErrHeld
		case i%2 == 0:
			o.F, o.Token = histories.Write, histories.Some(int64(1))
			if i%4 == 0 {
				o.Type = histories.Info
			}
		default:
			o.Process, o.F, o.Resource, o.Value = "B", histories.Read, "R", histories.Some(fmt.Sprint("v", i-1))
		}
	})
}

// crowd: everybody reads from the beginning to the end; last, two take the lock in turn.
func crowd(n int) *histories.History {
	h := filled(n, func(i int, o *histories.Operation) {
		if i < n-6 {
			o.Process, o.F, o.Resource, o.Value = fmt.Sprint("W", i), histories.Read, "R", histories.Some("v")
			o.Invoke, o.Return = 0, int64(n)*1000
			return
		}
		who := (i - (n - 6)) / 3
		o.Process = []string{"A", "B"}[who]
		switch (i - (n - 6)) % 3 {
		case 0:
			o.F, o.Lock, o.Token = histories.Acquire, "L", histories.Some(int64(who))
		case 1:
			o.F, o.Token = histories.Write, histories.Some(int64(who))
		default:
			o.F, o.Lock = histories.Release, "L"
		}
	})
	h.Header.Initial = map[string]string{"R": "v"}
	return h
}
