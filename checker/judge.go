package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/checker/witness"
	"github.com/leasehold-checker/leasehold/histories"
)

// finding is what was found out about one resource.
type finding struct {
	resource  *model.Resource
	judgement model.Judgement
	stale     []int // accepted stale operations: places in History.Ops
	lost      []model.LostWrite
	orphans   []int
	cores     map[Property][]int // illegal, and nothing of the above: what the search could not do without
}

// judge asks Porcupine and the direct scans, and holds them against each other.
//
// The search has until ctx ends, the scans until scans does.
func judge(ctx, scans context.Context, r *model.Resource) (finding, error) {
	f := finding{resource: r, cores: map[Property][]int{}}
	f.judgement = r.Judge(ctx, model.Limits{})
	j := &f.judgement
	f.stale = r.StaleOperations(j.StaleQuestion.SeqOnly)
	f.lost, f.orphans = r.LostWrites(scans), r.Orphans()
	f.confirm()
	if err := f.disagreement(); err != nil {
		return f, err
	}
	if j.Stale == model.Illegal && len(f.stale) == 0 {
		f.cores[StaleWrite] = shrink(ctx, r, j.StaleQuestion)
	}
	if j.Lost == model.Illegal && len(f.lost)+len(f.orphans) == 0 {
		f.cores[LostUpdate] = shrink(ctx, r, j.LostQuestion)
	}
	return f, nil
}

// disagreement is an error if a scan has proof of a violation and Porcupine has an
// order without one: one of the two is wrong, and nobody can tell which.
func (f *finding) disagreement() error {
	switch {
	case f.judgement.Stale == model.Legal && len(f.stale) > 0:
		return fmt.Errorf("judge resource %q: %s: operation %d is stale, Porcupine finds an order: %w", f.resource.Name, StaleWrite, f.stale[0], ErrDisagree)
	case f.judgement.Lost == model.Legal && len(f.lost)+len(f.orphans) > 0:
		return fmt.Errorf("judge resource %q: %s: an update is lost, Porcupine finds an order: %w", f.resource.Name, LostUpdate, ErrDisagree)
	}
	return nil
}

func shrink(ctx context.Context, r *model.Resource, q model.Question) []int {
	return witness.Shrink(ctx, r, func(part *model.Resource) bool {
		return part.Decide(ctx, q, model.Limits{}) == model.Illegal
	})
}

// confirm settles what Porcupine could not decide as a whole, if a scan found a
// violation: Porcupine is asked about its few operations alone. A legal order stays
// legal when operations are left out, so if the few are illegal, all are. For
// stale-write the few must be ordered by the resource's own numbers, since real time
// does not count where it contradicts them, and that is a question about all.
func (f *finding) confirm() {
	ctx := context.Background() // the few operations take no time worth naming
	ask := func(q model.Question, ops ...int) bool {
		slices.Sort(ops)
		return f.resource.Only(ops).Decide(ctx, q, model.Limits{}) == model.Illegal
	}
	j := &f.judgement
	if j.Lost == model.Undecided && len(f.lost) > 0 {
		l := f.lost[0]
		if ask(model.Question{Bases: true}, l.Base, l.Lost, l.Write) {
			j.Lost = model.Illegal
		}
	}
	if j.Lost == model.Undecided && len(f.orphans) > 0 && ask(model.Question{Values: true}, f.orphans[0]) {
		j.Lost = model.Illegal
	}
	if j.Stale == model.Undecided {
		numbered := f.resource.StaleOperations(true)
		if len(numbered) > 0 && ask(model.Question{Grants: true, SeqOnly: true}, numbered[0], f.resource.FirstNewer(numbered[0], true)) {
			j.Stale, j.StaleQuestion.SeqOnly = model.Illegal, true
			f.stale = numbered
		}
	}
}

// sumUp is the result of one property over all resources.
func sumUp(b *model.Book, p Property, findings []finding) PropertyResult {
	r := PropertyResult{Property: p, Verdict: Valid, Role: Gate}
	var cases []witness.Case
	for i := range findings {
		f := &findings[i]
		checked, answer, found := f.of(b, p)
		cases = append(cases, found...)
		switch answer {
		case model.Illegal:
			r.Verdict = Invalid
			r.Violations += max(1, f.violations(p))
			checked = max(checked, 1)
		case model.Undecided:
			r.Verdict = Worst(r.Verdict, Unknown)
			if r.Why == "" {
				r.Why = fmt.Sprintf("resource %q: no answer within the limits of time and memory", f.resource.Name)
			}
			checked = max(checked, 1)
		}
		r.Checked += checked
	}
	if r.Verdict != Unknown {
		r.Why = ""
	}
	r.Witnesses = tell(b, cases)
	r.Cause = cause(r.Witnesses)
	return r
}

// of returns what a finding says about a property: the number of cases, Porcupine's
// answer, and the violations as cases to be told.
func (f *finding) of(b *model.Book, p Property) (checked int, answer model.Answer, cases []witness.Case) {
	answer = f.judgement.Lost
	checked = f.resource.Based()
	if p == StaleWrite {
		answer = f.judgement.Stale
		if accepted, contended := f.resource.Contended(); contended {
			checked = accepted
		} else {
			checked = 0
		}
	}
	if answer != model.Illegal {
		return checked, answer, nil
	}
	core := f.cores[p]
	switch {
	case core != nil && p == StaleWrite:
		return checked, answer, []witness.Case{witness.SearchedStale(f.resource, core)}
	case core != nil:
		return checked, answer, []witness.Case{witness.SearchedLost(f.resource, core)}
	case p == StaleWrite:
		for _, s := range f.stale[:min(len(f.stale), maxWitnesses)] { // the earliest; all have two operations
			newer := f.resource.FirstNewer(s, f.judgement.StaleQuestion.SeqOnly)
			cases = append(cases, witness.Stale(b, f.resource, s, newer, f.lost))
		}
		return checked, answer, cases
	}
	for _, l := range f.lost {
		cases = append(cases, witness.Lost(b, f.resource, l))
	}
	for _, o := range f.orphans {
		cases = append(cases, witness.Orphan(f.resource, o))
	}
	return checked, answer, cases
}

func (f *finding) violations(p Property) int {
	if p == StaleWrite {
		return len(f.stale)
	}
	return len(f.lost)
}

// maxWitnesses is how many violations of a property are told.
const maxWitnesses = 3

// tell ranks the cases, fewest operations first, then the earliest, and tells the
// first ones.
func tell(b *model.Book, cases []witness.Case) []Witness {
	when := func(c *witness.Case) int64 {
		last := int64(0)
		for _, i := range c.Core {
			last = max(last, b.History.Ops[i].Invoke)
		}
		return last
	}
	slices.SortStableFunc(cases, func(a, c witness.Case) int {
		return cmp.Or(cmp.Compare(len(a.Core), len(c.Core)), cmp.Compare(when(&a), when(&c)), slices.Compare(a.Core, c.Core))
	})
	var told []Witness
	for _, c := range cases[:min(len(cases), maxWitnesses)] {
		told = append(told, witness.Build(b, c))
	}
	return told
}

// cause of a property is that of its first witness.
func cause(told []Witness) histories.Cause {
	if len(told) == 0 {
		return histories.CauseUnknown
	}
	return told[0].Cause
}
