package checker_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// An answer for a dead lease is a fault of whoever gave it, unless its worker was stopped,
// or its messages were held back, while it waited: then any client reads it late.
func TestLiveGrantIsAReportOfStoppedWorkers(t *testing.T) {
	t.Parallel()
	const dead = "0..1200 A acquire L ttl=1000 -> ok token=1\n1100 store expire L of A\n"
	tests := []struct {
		name string
		hist string
		want checker.Role
	}{
		{"Nobody stopped it.", dead, checker.Gate},
		{"It was stopped while it waited.", "0..1200 A acquire L ttl=1000 -> ok token=1\n5 nemesis pause A\n1100 store expire L of A\n1199 nemesis resume A", checker.Report},
		{"Or it may have been.", "0..1200 A acquire L ttl=1000 -> ok token=1\n5.. nemesis pause A -> info\n1100 store expire L of A", checker.Report},
		{"Somebody else was.", "0..1200 A acquire L ttl=1000 -> ok token=1\n5 nemesis pause B\n1100 store expire L of A\n1199 nemesis resume B", checker.Gate},
		{"It was not stopped after all.", "0..1200 A acquire L ttl=1000 -> ok token=1\n5 nemesis pause A -> fail\n1100 store expire L of A", checker.Gate},
		{"It was stopped before it asked.", "0 nemesis pause A\n5 nemesis resume A\n10..1200 A acquire L ttl=1000 -> ok token=1\n1100 store expire L of A", checker.Gate},
		{"Its messages were held back.", "0..1200 A acquire L ttl=1000 -> ok token=1\n5 nemesis hold A\n1100 store expire L of A\n1199 nemesis heal A", checker.Report},
		{"It was stopped when the lease ended, and asked to renew it after that.",
			"0..1 A acquire L ttl=1000 -> ok token=1\n5 nemesis pause A\n1100 store expire L of A\n1199 nemesis resume A\n1200 A renew L -> ok", checker.Gate},
		{"One answer came to a stopped worker, and one did not.", "0..1200 A acquire L ttl=1000 -> ok token=1\n5 nemesis pause A\n1100 store expire L of A\n1199 nemesis resume A\n1300 A renew L -> ok\n" +
			"1350 store expire L of A\n1400 A renew L -> ok", checker.Gate},
		{"It was stopped twice.", "0 nemesis pause A\n1 nemesis resume A\n2..1200 A acquire L ttl=1000 -> ok token=1\n5 nemesis pause A\n1100 store expire L of A\n1199 nemesis resume A\n1250 nemesis pause A", checker.Report},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			r := check(t, h)
			p := r.Property(checker.LiveGrant)
			if p.Verdict != checker.Invalid || p.Role != test.want || (r.Verdict == checker.Invalid) != (test.want == checker.Gate) {
				t.Errorf("%s, %s; the history is %s", p.Verdict, p.Role, r.Verdict)
			}
			judgeWitnesses(t, test.name, h, r)
		})
	}
}

func TestLiveGrantStories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		hist  string
		cause histories.Cause
		title string
		want  string
	}{
		{"The lease of a waiting client ran out, and it is granted the lock.", `
0..1000     A acquire L ttl=500 -> ok token=1
750         store expire L of A`, histories.CauseUnknown,
			"worker A was granted the lock L 250 ms after its lease had ended",
			`Worker A asked for the lock L (lease of 500 ms) at 0.000 s.
Its lease ran out: the store ended it at 0.750 s.
It was told at 1.000 s that it had been granted the lock under token 1, 250 ms after its lease had ended.
`},
		{"The answer waited for a stopped worker.", `
0..1000     A acquire L ttl=500 -> ok token=1
10          nemesis pause A
750         store expire L of A
990         nemesis resume A`, histories.CausePaused,
			"worker A was granted the lock L 250 ms after its lease had ended",
			`Worker A asked for the lock L (lease of 500 ms) at 0.000 s.
It was stopped at 0.010 s for 0.980 s.
Its lease ran out: the store ended it at 0.750 s. The store did the right thing.
It was told at 1.000 s that it had been granted the lock under token 1, 250 ms after its lease had ended. It was stopped meanwhile: what had been granted may have waited for it, and a client that does not look at the time takes it for alive.
`},
		{"The lock had passed on.", `
0..3000     A acquire L ttl=500 -> ok token=1
1000..1001  B acquire L ttl=500 -> ok token=2`, histories.CauseUnknown,
			"worker A was granted the lock L 1999 ms after the lock had passed on to worker B",
			`Worker A asked for the lock L (lease of 500 ms) at 0.000 s.
Its lease was promised until 0.500 s; the next grant came after that.
Worker B was granted the lock L under token 2 (lease of 500 ms) at 1.001 s.
Worker A was told at 3.000 s that it had been granted the lock under token 1, 1999 ms after the lock had passed on to worker B.
`},
		{"Two acquires overlap, and only one order is possible.", `
tokens: none
0..3000     A acquire L ttl=500  -> ok
1000..1001  B acquire L ttl=5000 -> ok`, histories.CauseUnknown,
			"worker A was granted the lock L 1999 ms after the lock had passed on to worker B",
			`Worker A asked for the lock L (lease of 500 ms) at 0.000 s.
Worker B was granted the lock L (lease of 5 s) at 1.001 s; it had asked at 1.000 s, so the lock was promised to it until 6.000 s.
The two acquires overlap, but worker B cannot have come first: worker A would have been granted the lock while it was promised to worker B.
Worker A was told at 3.000 s that it had been granted the lock, 1999 ms after the lock had passed on to worker B.
`},
		{"A renewal takes the lock again.", `
0..1       A acquire L ttl=1000 -> ok token=1
5          nemesis pause A
1000       store expire L of A
2000       nemesis resume A
2001..2002 A renew L            -> ok`, histories.CausePaused,
			"worker A renewed its lease of the lock L 1001 ms after its lease had ended",
			`Worker A was granted the lock L under token 1 (lease of 1 s) at 0.001 s.
It was stopped at 0.005 s for 1.995 s.
Its lease ran out: the store ended it at 1.000 s. The store did the right thing.
It asked at 2.001 s to renew its lease, and was answered ok at 2.002 s, although it asked 1001 ms after its lease had ended.
`},
		{"The store ends a lease early, and renews it.", `
0..1       A acquire L ttl=1000 -> ok token=1
500        store expire L of A
700..701   A renew L            -> ok`, histories.CauseUnknown,
			"worker A renewed its lease of the lock L 200 ms after its lease had ended",
			`Worker A was granted the lock L under token 1 (lease of 1 s) at 0.001 s.
Its lease was ended by the store at 0.500 s, before the promised 1.000 s.
It asked at 0.700 s to renew its lease, and was answered ok at 0.701 s, although it asked 200 ms after its lease had ended.
`},
		{"A lease is renewed although the lock was released and taken by another.", `
0..1       A acquire L ttl=1000 -> ok token=1
5..6       A release L          -> ok
7..8       B acquire L ttl=10   -> ok token=2
100        A renew L grant=A.1  -> ok`, histories.CauseUnknown,
			"worker A renewed its lease of the lock L 92 ms after the lock had passed on to worker B",
			`Worker A was granted the lock L under token 1 (lease of 1 s) at 0.001 s.
It released the lock at 0.005 s.
Worker B was granted the lock L under token 2 (lease of 10 ms) at 0.008 s.
Worker A asked at 0.100 s to renew its lease, and was answered ok at 0.100 s, although it asked 92 ms after the lock had passed on to worker B.
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			r := check(t, h)
			p := r.Property(checker.LiveGrant)
			if p.Verdict != checker.Invalid || p.Cause != test.cause || len(p.Witnesses) != 1 {
				t.Fatalf("%+v", p)
			}
			w := p.Witnesses[0]
			if got := story(w); got != test.want || w.Title != test.title {
				t.Errorf("%s\n%s", w.Title, got)
			}
			judgeWitnesses(t, test.name, h, r)
		})
	}
}

// What a fault of the store or its client looks like beside what stopped workers read
// late: it is told first.
func TestTheGuiltyAreToldFirst(t *testing.T) {
	t.Parallel()
	h := parse(t, `
0..1200    A acquire L ttl=1000 -> ok token=1
5          nemesis pause A
1100       store expire L of A
1199       nemesis resume A
1210..1211 B acquire L ttl=100  -> ok token=2
1400       store expire L of B
1500       B renew L            -> ok`)
	r := check(t, h)
	p := r.Property(checker.LiveGrant)
	if p.Violations != 2 || p.Role != checker.Gate || len(p.Witnesses) != 2 || !strings.HasPrefix(p.Witnesses[0].Title, "worker B renewed") {
		t.Errorf("%+v", p)
	}
}
