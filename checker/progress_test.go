package checker_test

import (
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
)

func TestProgressStories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, hist, title, want string
	}{
		{
			"A release that was never sent.", `
0..1    A acquire L ttl=10000 -> ok token=1
1000    A release L           -> fail cancelled
1200..  B acquire L ttl=10000 -> info
9000    A renew L             -> ok
18000   A renew L             -> ok
30000   end`,
			"worker B waited 28.800 s for the lock L, which nobody alive held",
			`Worker A was granted the lock L under token 1 (lease of 10 s) at 0.001 s.
It asked at 1.000 s to release the lock, and was refused.
Worker B asked for the lock at 1.200 s, and still waited at 30.000 s.
Worker A's lease was renewed all the same: 2 renewals, the last one at 18.000 s.
From 1.200 s until the history ends, for 28.800 s, nobody alive held the lock, worker B waited for it, and nobody was granted it. The bound is 20.000 s, twice the lease of the last grant.
`,
		},
		{
			"A dead holder's lock is refused again and again, until somebody else gets it.", `
tokens: none
0               A acquire L -> ok
1000            nemesis kill A
2000            B acquire L -> fail taken
30000           B acquire L -> fail taken
90000..90001    B acquire L -> fail taken
100000..100001  C acquire L -> ok`,
			"worker B waited 88.001 s for the lock L, which nobody alive held",
			`Worker A was granted the lock L at 0.000 s.
It was killed at 1.000 s.
Worker B asked for the lock at 2.000 s, and was refused 3 times until 90.001 s.
Worker C was granted the lock L at 100.001 s.
From 2.000 s until 90.001 s, for 88.001 s, nobody alive held the lock, worker B waited for it, and nobody was granted it. The bound is 60.000 s for a lock without a time to live.
`,
		},
		{
			"A lease that runs out frees nothing.", `
tokens: none
0            A acquire L ttl=2000 -> ok
500..9000    B acquire L ttl=2000 -> ok`,
			"worker B waited 7.000 s for the lock L, which nobody alive held",
			`Worker A was granted the lock L (lease of 2 s) at 0.000 s.
Worker B asked for the lock at 0.500 s, and was answered at 9.000 s.
It was granted the lock L (lease of 2 s) at 9.000 s.
From 2.000 s until the history ends, for 7.000 s, nobody alive held the lock, worker B waited for it, and nobody was granted it. The bound is 4.000 s, twice the lease of the last grant.
`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, test.hist))
			p := r.Property(checker.Progress)
			if p.Verdict != checker.Invalid || p.Role != checker.Report || p.Violations != 1 {
				t.Fatalf("%+v", p)
			}
			if w := p.Witnesses[0]; w.Title != test.title || story(w) != test.want {
				t.Errorf("%s\n%s", w.Title, story(w))
			}
			again := check(t, parse(t, p.Witnesses[0].Histories))
			if q := again.Property(checker.Progress); q.Verdict != checker.Invalid {
				t.Errorf("alone it is %s:\n%s", q.Verdict, p.Witnesses[0].Histories)
			}
		})
	}
}

func TestProgressUnknown(t *testing.T) {
	t.Parallel()
	r := check(t, parse(t, `
tokens: none
0       A acquire L ttl=2000 -> ok
500..   B acquire L ttl=2000 -> info
600     C acquire L ttl=2000 -> info timeout
9000    end`))
	p := r.Property(checker.Progress)
	want := `worker "B" waited 7.000 s for lock "L", and nobody is known to have held it, but an acquire of worker "C" has no answer`
	if p.Verdict != checker.Unknown || p.Why != want || p.Checked != 1 || p.Role != checker.Report {
		t.Errorf("%+v", p)
	}
}
