package checker_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

const resetTokens = `
fence: writes
0..2       1 acquire L ttl=2000  -> ok token=41
10..11     1 write R a1 token=41 -> ok
20..22     1 release L           -> ok
1000..1002 3 acquire L ttl=2000  -> ok token=7
1010..1011 3 write R c1 token=7  -> fail fenced
`

func TestOverFencingStory(t *testing.T) {
	t.Parallel()
	want := `Worker 1 wrote a1 under token 41: accepted at 0.011 s.
Worker 3 was granted the lock L under token 7 (lease of 2 s) at 1.002 s; it had asked at 1.000 s, so the lock was promised to it until 3.000 s.
It asked at 1.010 s to write c1 to R, with its own token 7, and was refused as stale at 1.011 s: but nobody had a newer grant, it had not given its own back, and the lock was promised to it until 3.000 s.
`
	r := check(t, parse(t, resetTokens))
	p := r.Property(checker.OverFencing)
	if p.Verdict != checker.Invalid || p.Role != checker.Gate || p.Checked != 1 || p.Violations != 1 || p.Cause != histories.CauseReset {
		t.Fatalf("%+v", p)
	}
	w := p.Witnesses[0]
	if story(w) != want || w.Resource != "R" || w.Lock != "L" || w.Title != "worker 3 was refused by R under token 7, although it held the lock L" {
		t.Errorf("%s\n%s", w.Title, story(w))
	}
}

func TestOverFencingRole(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, hist string
		verdict    checker.Verdict
		role       checker.Role
	}{
		{"A resource that is said not to fence may refuse for reasons of its own.", strings.Replace(resetTokens, "fence: writes", "fence: off", 1), checker.Invalid, checker.Report},
		{"After the lease nobody knows.", strings.Replace(resetTokens, "1010..1011 3", "3010..3011 3", 1), checker.Unknown, checker.Gate},
		{"Without a refusal nothing is judged.", strings.Replace(resetTokens, "fail fenced", "fail conflict", 1), checker.Valid, checker.Gate},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, test.hist))
			p := r.Property(checker.OverFencing)
			if p.Verdict != test.verdict || p.Role != test.role || (p.Why != "") != (test.verdict == checker.Unknown) {
				t.Errorf("%+v", p)
			}
		})
	}
}
