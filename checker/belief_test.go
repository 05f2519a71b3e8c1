package checker_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

func TestBeliefStories(t *testing.T) {
	t.Parallel()
	const one = "0..1 A acquire L ttl=1000 -> ok token=1\n"
	const granted = "Worker A was granted the lock L under token 1 (lease of 1 s) at 0.001 s; it had asked at 0.000 s, so the lock was promised to it until 1.000 s.\n"
	tests := []struct {
		name  string
		hist  string
		cause histories.Cause
		title string
		want  string
	}{
		{"The loss is not told.", one + "1100 store expire L of A\n1200..1201 A check L -> ok held=true", histories.CauseUnknown,
			"worker A was told that it held the lock L, 100 ms after its lease had ended",
			granted + `Its lease ran out: the store ended it at 1.100 s. The store did the right thing.
It was told at 1.201 s that it held the lock; its lease had ended 100 ms before it asked.
`},
		{"The worker was stopped when its lease ran out.", one + "5 nemesis pause A\n1100 store expire L of A\n1199 nemesis resume A\n1200..1201 A check L -> ok held=true", histories.CausePaused,
			"worker A was told that it held the lock L, 100 ms after its lease had ended",
			granted + `It was stopped at 0.005 s for 1.194 s.
Its lease ran out: the store ended it at 1.100 s. The store did the right thing.
It was told at 1.201 s that it held the lock; its lease had ended 100 ms before it asked.
`},
		{"The lock had passed on.", one + "800 A renew L -> ok\n2000..2001 B acquire L ttl=1000 -> ok token=2\n2200 A check L -> ok held=true", histories.CauseUnknown,
			"worker A was told that it held the lock L, 199 ms after the lock had passed on to worker B",
			`Worker A was granted the lock L under token 1 (lease of 1 s) at 0.001 s.
It asked at 0.800 s to renew its lease, and was answered ok: the lock was promised to it until 1.800 s.
Worker B was granted the lock L under token 2 (lease of 1 s) at 2.001 s.
Worker A was told at 2.200 s that it held the lock; the lock had passed on to worker B 199 ms before it asked.
`},
		{"The worker had released it.", one + "5..6 A release L -> ok\n7 A check L -> ok held=true", histories.CauseUnknown,
			"worker A was told that it held the lock L, 1 ms after it had released it",
			granted + `It released the lock at 0.006 s, and was answered ok.
It was told at 0.007 s that it held the lock; it had released it 1 ms before it asked.
`},
		{"It never had the lock.", "1..2 A acquire L ttl=10 -> fail taken\n5 A check L -> ok held=true", histories.CauseUnknown,
			"worker A was told that it held the lock L, and had never been granted it",
			`Worker A asked for the lock L at 0.001 s, and was refused.
It was told at 0.005 s that it held the lock, which it had never been granted.
`},
		{"The worker is told too early.", one + "400..500 A renew L -> info timeout\n501 A lost L", histories.CauseUnknown,
			"worker A was told that its lease of the lock L was lost, 499 ms before the end of the promise",
			granted + `It asked at 0.400 s to renew its lease, and had no answer.
It was told at 0.501 s that its lease was lost, 499 ms before the end of the promise, and nothing is on record that had ended it. A cautious client does that, too.
`},
		{"A release was refused, and the client forgets its hold.", "0..1 A acquire L -> ok token=1\n5 A release L -> fail cancelled\n6 A check L -> ok held=false", histories.CauseUnknown,
			"worker A was told that it did not hold the lock L, although it was promised the lock until it released it",
			`Worker A was granted the lock L under token 1 at 0.001 s; it had asked at 0.000 s, so it was promised the lock until it released it.
It asked at 0.005 s to release the lock, and was refused.
It was told at 0.006 s that it did not hold the lock, although it was promised the lock until it released it, and nothing is on record that had ended it. A cautious client does that, too.
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			r := check(t, h)
			p := r.Property(checker.Belief)
			if p.Verdict != checker.Invalid || p.Role != checker.Report || p.Cause != test.cause || len(p.Witnesses) != 1 {
				t.Fatalf("%+v", p)
			}
			if r.Verdict == checker.Invalid {
				t.Errorf("a report makes the history %s: %s", r.Verdict, r.Why)
			}
			w := p.Witnesses[0]
			if got := story(w); got != test.want || w.Title != test.title {
				t.Errorf("%s\n%s", w.Title, got)
			}
			judgeWitnesses(t, test.name, h, r)
		})
	}
}

// What nobody can know is unknown, and says how many answers that were.
func TestBeliefUnknown(t *testing.T) {
	t.Parallel()
	r := check(t, parse(t, "0..1 A acquire L ttl=1000 -> ok token=1\n1000 A check L -> ok held=true\n1001 A check L -> ok held=true"))
	p := r.Property(checker.Belief)
	if p.Verdict != checker.Unknown || p.Checked == 0 || !strings.HasPrefix(p.Why, "2 answers that the lock is held") {
		t.Errorf("%+v", p)
	}
}
