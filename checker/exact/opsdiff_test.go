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

// forRandom calls f with the resources of random histories of at most so many
// operations on resources, in parallel parts; seen counts what was met, and must
// names what has to be.
func forRandom(t *testing.T, most int, must []string, f func(t *testing.T, h *histories.History, r *model.Resource, seen map[string]int)) {
	forRounds(t, diffRounds(), most, must, f)
}

func forRounds(t *testing.T, rounds, most int, must []string, f func(t *testing.T, h *histories.History, r *model.Resource, seen map[string]int)) {
	t.Parallel()
	const parts = 2
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for round := range rounds / parts {
				h := randomOperations(rand.New(rand.NewPCG(uint64(part), uint64(round))), most)
				if err := histories.Validate(h); err != nil {
					t.Fatalf("part %d, round %d: %v\n%s", part, round, err, text(h))
				}
				b, err := model.Resolve(h)
				if err != nil { // a grant is named before it was there
					seen["not resolved"]++
					continue
				}
				seen["histories"]++
				for _, r := range b.Resources() {
					f(t, h, r, seen)
				}
				if t.Failed() {
					t.Fatalf("part %d, round %d:\n%s", part, round, text(h))
				}
			}
			t.Log(seen)
			for _, must := range must {
				if seen[must] == 0 {
					t.Errorf("no history was %s: %v", must, seen)
				}
			}
		})
	}
}

// TestRelations compares the graph with the relation, for every pair: a path through
// added nodes alone leads from one operation to another if and only if the history
// puts the one first; and from one zone to another, if an operation of the one comes
// before an operation of the other.
func TestRelations(t *testing.T) {
	forRounds(t, roundsOr(8_000), 14, related, compareRelations)
}

// In longer histories there are more grants, and the trees that carry them have more
// than one step.
func TestRelationsOfManyOperations(t *testing.T) {
	forRounds(t, roundsOr(8_000)/80, 100, related, compareRelations)
}

var related = []string{"before", "by number", "parted", "not"}

func compareRelations(t *testing.T, _ *histories.History, r *model.Resource, seen map[string]int) {
	t.Helper()
	ops := r.Operations()
	parted := func(a, b *model.Operation) bool { return a.Counted && b.Counted && model.Parted(a.Grant, b.Grant) }
	numbers := func(a, b *model.Operation) bool { return a.Numbered && b.Numbered && model.Precedes(a, b) }
	for _, zones := range []bool{false, true} {
		compareRelation(t, exact.NewRelation(r, true, false, zones), ops, "parted", parted, seen)
		compareRelation(t, exact.NewRelation(r, false, true, zones), ops, "by number", numbers, seen)
		compareRelation(t, exact.NewRelation(r, false, false, zones), ops, "before", model.Precedes, seen)
	}
}

func compareRelation(t *testing.T, rel exact.Relation, ops []model.Operation, name string, holds func(a, b *model.Operation) bool, seen map[string]int) {
	t.Helper()
	type pair struct{ from, to int32 }
	want := map[pair]bool{}
	for i := range ops {
		for j := range ops {
			if a, b := rel.Zone(i), rel.Zone(j); a >= 0 && b >= 0 && a != b {
				want[pair{a, b}] = want[pair{a, b}] || holds(&ops[i], &ops[j])
			}
		}
	}
	from := map[int32]map[int32]bool{}
	for p, w := range want {
		if from[p.from] == nil {
			from[p.from] = rel.From(p.from)
		}
		if from[p.from][p.to] != w {
			t.Errorf("%s: a path from %d to %d is %v", name, p.from, p.to, !w)
		}
		if w {
			seen[name]++
		} else {
			seen["not"]++
		}
	}
}

// questions of stale-write. Those without values are asked only of resources that do
// not explain their reads, and the last two only if numbers contradict real time.
var questions = []model.Question{
	{Values: true, Grants: true}, {Values: true}, {Grants: true}, {}, {Grants: true, SeqOnly: true},
}

// TestOrdersAgainstPorcupine compares the decisions with Porcupine's, and has
// Porcupine confirm every core; orders are replayed.
func TestOrdersAgainstPorcupine(t *testing.T) {
	var must []string
	for _, q := range questions {
		must = append(must, fmt.Sprintf("%+v legal", q), fmt.Sprintf("%+v illegal", q))
	}
	forRounds(t, roundsOr(100_000), 14, must, func(t *testing.T, _ *histories.History, r *model.Resource, seen map[string]int) {
		s, asked := exact.NewSolver(r), questions
		if seen["histories"]%4 > 0 {
			asked = questions[:2]
		}
		for _, q := range asked {
			compareDecision(t, r, q, s.Decide(context.Background(), q), model.Limits{}, seen)
		}
	})
}

// TestLongOrdersAgainstPorcupine: where more happens, more has to happen for a
// contradiction. Porcupine gives some of them up.
func TestLongOrdersAgainstPorcupine(t *testing.T) {
	const little = 4 << 20
	forRounds(t, roundsOr(100_000)/100, 70, []string{"compared"}, func(t *testing.T, _ *histories.History, r *model.Resource, seen map[string]int) {
		s := exact.NewSolver(r)
		for _, q := range questions {
			compareDecision(t, r, q, s.Decide(context.Background(), q), model.Limits{Memory: little}, seen)
		}
		if seen["given up"] > seen["compared"]/4 {
			t.Errorf("Porcupine gave up too often: %v", seen)
		}
	})
}

func compareDecision(t *testing.T, r *model.Resource, q model.Question, d model.Decision, limits model.Limits, seen map[string]int) {
	t.Helper()
	seen[fmt.Sprintf("%+v %v", q, d.Answer)]++
	switch d.Answer {
	case model.Undecided:
		if seen[d.Why]++; !q.Values {
			t.Errorf("%+v: undecided: %s", q, d.Why)
		}
		return
	case model.Legal:
		if err := replay(r, q, d.Order); err != nil {
			t.Errorf("%+v: order %v: %v", q, d.Order, err)
		}
	case model.Illegal:
		seen[fmt.Sprintf("core of %02d", len(d.Core))]++
		confirmCore(t, r, q, d.Core)
		confirmSmallest(t, r, q, d.Core)
	}
	if err := r.Confirm(context.Background(), q, d); err != nil {
		t.Error(err)
	}
	switch want := r.Decide(context.Background(), q, limits); want {
	case model.Undecided:
		seen["given up"]++
	case d.Answer:
		seen["compared"]++
	default:
		t.Errorf("%+v: %v, Porcupine: %v", q, d.Answer, want)
	}
}

// confirmCore: a core brings the writes of the values read in it, and Porcupine finds
// no order of it.
func confirmCore(t *testing.T, r *model.Resource, q model.Question, core []int32) {
	t.Helper()
	ops := r.Operations()
	if !slices.IsSorted(core) || len(slices.Compact(slices.Clone(core))) != len(core) {
		t.Errorf("%+v: core %v is not ascending", q, core)
	}
	var places []int
	for _, i := range core {
		places = append(places, ops[i].At)
		for j := range ops {
			if q.Values && ops[i].Read && ops[i].Value >= 0 && ops[j].Write && ops[j].Value == ops[i].Value && !slices.Contains(core, int32(j)) {
				t.Errorf("%+v: core %v lacks write %d of read %d", q, core, j, i)
			}
		}
	}
	if got := r.Only(places).Decide(context.Background(), q, model.Limits{}); got != model.Illegal {
		t.Errorf("%+v: core %v: Porcupine: %v", q, core, got)
	}
}

// confirmSmallest: without any one operation a core is legal, or reads a value without
// its write.
func confirmSmallest(t *testing.T, r *model.Resource, q model.Question, core []int32) {
	t.Helper()
	ops := r.Operations()
	for k := range core {
		less := slices.Delete(slices.Clone(core), k, k+1)
		gone := &ops[core[k]]
		if gone.Write && slices.ContainsFunc(less, func(i int32) bool { return ops[i].Read && ops[i].Value == gone.Value }) {
			continue
		}
		if got := r.Only(r.Places(less)).Decide(context.Background(), q, model.Limits{}); got != model.Legal {
			t.Errorf("%+v: core %v without %d: %v", q, core, core[k], got)
		}
	}
}

// replay is what an order has to be true to, pair by pair.
func replay(r *model.Resource, q model.Question, order []int32) error {
	ops := r.Operations()
	at := map[int32]int{}
	for k, i := range order {
		if _, twice := at[i]; twice {
			return fmt.Errorf("operation %d stands there twice", i)
		}
		at[i] = k
	}
	for i := range ops {
		if _, there := at[int32(i)]; ops[i].Acked && !there {
			return fmt.Errorf("operation %d is missing", i)
		}
	}
	value := r.InitialValue()
	for k, i := range order {
		a := &ops[i]
		for _, j := range order[k+1:] {
			b := &ops[j]
			if model.Precedes(b, a) && (!q.SeqOnly || a.Numbered && b.Numbered) {
				return fmt.Errorf("%d comes before %d", j, i)
			}
			if q.Grants && a.Counted && b.Counted && model.Parted(b.Grant, a.Grant) {
				return fmt.Errorf("the grant of %d is older than that of %d", j, i)
			}
		}
		if a.Write {
			value = a.Value
		} else if q.Values && a.Read && a.Value >= 0 && a.Value != value {
			return fmt.Errorf("%d returned another value", i)
		}
	}
	return nil
}
