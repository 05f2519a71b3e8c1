package exact_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

// TestSameVerdict: what changes nothing that the rules speak of changes no count.
func TestSameVerdict(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*histories.History){
		"other names":         rename,
		"times and ttl by 3":  scale,
		"all later by 7 ms":   later,
		"a read and a write":  touch,
		"larger tokens":       raise,
		"a lock beside it":    beside,
		"a refused release":   refuse,
		"a check of the lock": checks,
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range diffRounds() / 16 {
				h := randomHistory(rand.New(rand.NewPCG(7, uint64(round))))
				before, err := model.Resolve(h)
				if err != nil {
					continue
				}
				other := *h
				other.Ops = slices.Clone(h.Ops)
				change(&other)
				if err := histories.Validate(&other); err != nil {
					t.Fatal(err)
				}
				after, err := model.Resolve(&other)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := counts(after), counts(before); got != want {
					t.Fatalf("%s, before %s:\n%s\n%s", got, want, text(h), text(&other))
				}
			}
		})
	}
}

func counts(b *model.Book) string {
	x, o := exact.Exclusion(context.Background(), exact.NewLedger(b)), exact.TokenOrder(b)
	return fmt.Sprint(x.Checked, len(x.Breaches), o.Checked, len(o.Faults))
}

func rename(h *histories.History) {
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.ByWorker() {
			o.Process = "Z" + o.Process
		}
		for _, name := range []*string{&o.Lock, &o.Grant, &o.Target} {
			if *name != "" {
				*name = "Z" + *name
			}
		}
	}
}

func scale(h *histories.History) {
	for i := range h.Ops {
		o := &h.Ops[i]
		o.Invoke, o.Return, o.TTL, o.TTLAsked = 3*o.Invoke, 3*o.Return, 3*o.TTL, 3*o.TTLAsked
	}
}

func later(h *histories.History) {
	for i := range h.Ops {
		h.Ops[i].Invoke += 7 * ms
		h.Ops[i].Return += 7 * ms
	}
}

func raise(h *histories.History) {
	for i := range h.Ops {
		if token, known := h.Ops[i].Token.Get(); known {
			h.Ops[i].Token = histories.Some(2*token - 50)
		}
	}
}

func add(h *histories.History, ops ...histories.Operation) {
	for i := range ops {
		o := &ops[i]
		o.ID, o.Type = int64(1000+i), histories.OK
		if o.F == histories.Release {
			o.Type = histories.Fail
		}
		o.Invoke, o.Return = int64(i)*5*ms, int64(i)*5*ms+1
		h.Ops = append(h.Ops, *o)
	}
	sortOps(h)
}

func touch(h *histories.History) {
	add(h, histories.Operation{Process: "new", F: histories.Read, Resource: "R", Lock: "L0", Value: histories.Some("")},
		histories.Operation{Process: "new", F: histories.Write, Resource: "R", Lock: "L0", Value: histories.Some("x")})
}

func beside(h *histories.History) {
	acquire := histories.Operation{Process: "new", F: histories.Acquire, Lock: "other", TTLAsked: 9}
	if h.Header.Tokens != histories.TokensNone {
		acquire.Token = histories.Some(int64(1))
	}
	add(h, acquire)
}

func refuse(h *histories.History) {
	add(h, histories.Operation{Process: "new", F: histories.Release, Lock: "L0"}, histories.Operation{Process: "new", F: histories.Release, Lock: "L0"})
}

func checks(h *histories.History) {
	add(h, histories.Operation{Process: "new", F: histories.Check, Lock: "L0", Held: histories.Some(false)})
}
