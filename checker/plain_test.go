package checker

import (
	"errors"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
	"github.com/leasehold-checker/leasehold/histories"
)

func ledgerOf(t *testing.T, text string) *exact.Ledger {
	t.Helper()
	h, err := histories.ParseText(strings.NewReader(text), "test.hist")
	if err != nil {
		t.Fatal(err)
	}
	b, err := model.Resolve(h)
	if err != nil {
		t.Fatal(err)
	}
	return exact.NewLedger(b)
}

// A result that the rule word for word does not bear out is an error, be it invalid,
// valid, or unknown.
func TestConfirmPlainly(t *testing.T) {
	t.Parallel()
	const legal = "0..1 A acquire L ttl=1000 -> ok token=1\n1500 B acquire L ttl=9 -> ok token=2\n"
	const early = "0..1 A acquire L ttl=1000 -> ok token=1\n500 B acquire L ttl=9 -> ok token=2\n"
	const excused = "0..1 A acquire L ttl=1000 -> ok token=1\n300 A release L -> ok\n500 B acquire L ttl=9 -> ok token=2\n"
	long := strings.Repeat("2000 C read R -> ok value=x\n", maxPlain)
	for name, c := range map[string]struct {
		hist    string
		p       Property
		verdict Verdict
		core    []int
		wrong   bool
	}{
		"A valid history is valid.":            {legal, Exclusion, Valid, nil, false},
		"It is not invalid.":                   {legal, Exclusion, Invalid, []int{0, 1}, true},
		"An invalid one is invalid.":           {early, Exclusion, Invalid, []int{0, 1}, false},
		"It is not valid.":                     {early, Exclusion, Valid, nil, true},
		"Nor unknown.":                         {early, Exclusion, Unknown, nil, true},
		"A large history is not judged again.": {early + long, Exclusion, Valid, nil, false},
		"But what is told of it is.":           {legal + long, Exclusion, Invalid, []int{0, 1}, true},
		"Whatever it leaves out.":              {excused + long, Exclusion, Invalid, []int{0, 2}, true},
		"Tokens, too.":                         {legal, TokenOrder, Invalid, []int{0, 1}, true},
		"What may be dead and is not.":         {legal, LiveGrant, Invalid, []int{0, 1}, true},
		"What nobody can know is unknown.":     {"0 A acquire L ttl=1 -> ok token=1\n5 A check L -> ok held=true\n", Belief, Unknown, nil, false},
		"It is not valid, either.":             {"0 A acquire L ttl=1 -> ok token=1\n5 A check L -> ok held=true\n", Belief, Valid, nil, true},
		"A property that is no matter of grants has a certificate of its own.": {legal, StaleWrite, Invalid, []int{0, 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := PropertyResult{Property: c.p, Verdict: c.verdict}
			if c.core != nil {
				r.Witnesses = []Witness{{Core: c.core}}
			}
			if err := confirmPlainly(ledgerOf(t, c.hist), &r); errors.Is(err, ErrDisagree) != c.wrong {
				t.Errorf("got %v, want an error: %v", err, c.wrong)
			}
		})
	}
}
