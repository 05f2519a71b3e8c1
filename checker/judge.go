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
	scan
	late   []int               // stale operations, by the question that decided: places in History.Ops
	cores  map[Property][]int  // illegal, and nothing that a scan sees: what is illegal by itself
	unseen bool                // the core of lost-update is one of which the values read could be explained
	why    map[Property]string // undecided: what stood in the way
}

// court is what the judgements of all resources share.
type court struct {
	scans context.Context // until when the scans may take
	turns turns
}

// judge asks for both properties, and for the reasons. The scans may take until
// their own context ends.
func (c *court) judge(ctx context.Context, r *model.Resource, audited bool) (finding, error) {
	f := finding{resource: r, scan: newScan(c.scans, r), cores: map[Property][]int{}, why: map[Property]string{}}
	certifier := newCertifier(ctx, c, f.scan, audited)
	decide := func(q model.Question) (model.Answer, error) { return certifier.answer(ctx, q) }
	var err error
	if f.judgement, err = model.Judge(decide); err != nil {
		return f, err
	}
	if err := f.byNumber(decide); err != nil {
		return f, err
	}
	f.late = f.scan.stale
	if f.judgement.StaleQuestion.SeqOnly {
		f.late = r.StaleOperations(true)
	}
	if err := f.disagreement(); err != nil {
		return f, err
	}
	f.explain(c.scans, StaleWrite, f.judgement.Stale, certifier.decided[f.judgement.StaleQuestion], len(f.late))
	f.explain(c.scans, LostUpdate, f.judgement.Lost, certifier.decided[f.judgement.LostQuestion], len(f.lost)+len(f.orphans))
	return f, nil
}

// byNumber settles stale-write where it is not even clear by which question it has to
// be judged: if the resource's own numbers alone say that an operation was stale, it
// is so by any of them.
func (f *finding) byNumber(decide model.Decider) error {
	if f.judgement.Stale != model.Undecided || len(f.resource.StaleOperations(true)) == 0 {
		return nil
	}
	q := model.Question{Grants: true, SeqOnly: true}
	answer, err := decide(q)
	if answer == model.Illegal {
		f.judgement.Stale, f.judgement.StaleQuestion = answer, q
	}
	return err
}

// explain keeps the core or the reason of a decision, where it is needed.
func (f *finding) explain(ctx context.Context, p Property, answer model.Answer, d model.Decision, seen int) {
	switch {
	case answer == model.Illegal && seen == 0:
		f.cores[p] = f.resource.Places(d.Core)
		if p == LostUpdate {
			f.unseen = f.resource.Only(f.cores[p]).Decide(ctx, model.Question{Values: true}, model.Limits{Memory: smallMemory}) == model.Legal
		}
	case answer == model.Undecided:
		f.why[p] = cmp.Or(d.Why, "it is open whether any order explains the values read")
	}
}

// disagreement is an error if a scan sees a violation where an order was found and
// confirmed: one of the two is wrong, and nobody can tell which.
func (f *finding) disagreement() error {
	switch {
	case f.judgement.Stale == model.Legal && len(f.late) > 0:
		return fmt.Errorf("judge resource %q: %s: operation %d is stale, and yet there is an order: %w", f.resource.Name, StaleWrite, f.late[0], ErrDisagree)
	case f.judgement.Lost == model.Legal && len(f.lost)+len(f.orphans) > 0:
		return fmt.Errorf("judge resource %q: %s: an update is lost, and yet there is an order: %w", f.resource.Name, LostUpdate, ErrDisagree)
	}
	return nil
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
				r.Why = fmt.Sprintf("resource %q: %s", f.resource.Name, f.why[p])
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

// of returns what a finding says about a property: the number of cases, the answer,
// and the violations as cases to be told.
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
		return checked, answer, []witness.Case{witness.SearchedLost(f.resource, core, f.unseen)}
	case p == StaleWrite:
		for _, s := range f.late[:min(len(f.late), maxWitnesses)] { // the earliest; all have two operations
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
		return len(f.late)
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
