package checker_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// Each violation of a promise or of the tokens, as it is told.
func TestGrantStories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		hist  string
		p     checker.Property
		cause histories.Cause
		title string
		want  string
	}{
		{"A renewal gave the promise, and the store ended the lease before it was over.", `
0           A acquire L ttl=5000 -> ok token=1
2000..2001  A renew L            -> ok
6000..6001  A renew L            -> ok
6600        store expire L of A
6700..6705  B acquire L ttl=5000 -> ok token=2`,
			checker.Exclusion, histories.CauseUnknown, "worker B was granted the lock L 4295 ms before the promise to worker A ended",
			`Worker A was granted the lock L under token 1 (lease of 5 s) at 0.000 s.
It asked at 6.000 s to renew its lease, and was answered ok: the lock was promised to it until 11.000 s.
The store was seen to end a lease of worker A at 6.600 s.
Worker B was granted the lock L under token 2 (lease of 5 s) at 6.705 s.
Worker B was granted the lock 4295 ms too early: it was promised to worker A until 11.000 s, and neither a release of that grant nor a revocation is on record before that.
`},
		{"The release of a lease that had run out freed another's.", `
tokens: none
0            A acquire L ttl=10000 -> ok
9990..10002  A release L           -> ok
10001        B acquire L ttl=10000 -> ok
10003        C acquire L ttl=10000 -> ok`,
			checker.Exclusion, histories.CauseReleased, "worker C was granted the lock L 9998 ms before the promise to worker B ended",
			`Worker A released the lock at 9.990 s, although its own lease had run out: that may have freed another's.
Worker B was granted the lock L (lease of 10 s) at 10.001 s; it had asked at 10.001 s, so the lock was promised to it until 20.001 s.
Worker C was granted the lock L (lease of 10 s) at 10.003 s.
Worker C was granted the lock 9998 ms too early: it was promised to worker B until 20.001 s, and neither a release of that grant nor a revocation is on record before that.
`},
		{"A release that handed the lock over, answered late, is no cause.", `
tokens: none
0        A acquire L ttl=10000 -> ok
10..20   A release L           -> ok
11..14   B acquire L ttl=10000 -> ok
22       C acquire L ttl=10000 -> ok`,
			checker.Exclusion, histories.CauseUnknown, "worker C was granted the lock L 9989 ms before the promise to worker B ended",
			`Worker B was granted the lock L (lease of 10 s) at 0.014 s; it had asked at 0.011 s, so the lock was promised to it until 10.011 s.
Worker C was granted the lock L (lease of 10 s) at 0.022 s.
Worker C was granted the lock 9989 ms too early: it was promised to worker B until 10.011 s, and neither a release of that grant nor a revocation is on record before that.
`},
		{"A node of the store was restarted, a lease without ttl.", `
0..1     A acquire L -> ok token=3
500..600 nemesis restart etcd-1
700..701 B acquire L -> ok token=4`,
			checker.Exclusion, histories.CauseRestart, "worker B was granted the lock L while it was promised to worker A without an end",
			`Worker A was granted the lock L under token 3 at 0.001 s; it had asked at 0.000 s, so it was promised the lock until it released it.
The nemesis did this at 0.500 s: restart etcd-1 (store restarted).
Worker B was granted the lock L under token 4 at 0.701 s.
Worker B was granted the lock while worker A was promised it without an end, and neither a release of that grant nor a revocation is on record before that.
`},
		{"The death of a worker is no restart of the store.", `
0..1     A acquire L ttl=1000 -> ok token=3
500      nemesis kill A
700..701 B acquire L ttl=1000 -> ok token=4`,
			checker.Exclusion, histories.CauseUnknown, "worker B was granted the lock L 299 ms before the promise to worker A ended",
			`Worker A was granted the lock L under token 3 (lease of 1 s) at 0.001 s; it had asked at 0.000 s, so the lock was promised to it until 1.000 s.
Worker B was granted the lock L under token 4 (lease of 1 s) at 0.701 s.
Worker B was granted the lock 299 ms too early: it was promised to worker A until 1.000 s, and neither a release of that grant nor a revocation is on record before that.
`},
		{"The token is drawn in a second step.", `
0..5000     1 acquire L ttl=2000 -> ok token=2
2600..2605  2 acquire L ttl=2000 -> ok token=1
4000..4001  2 renew L            -> ok`,
			checker.Exclusion, histories.CauseUnknown, "worker 1 was granted the lock L 1000 ms before the promise to worker 2 ended",
			`Worker 2 was granted the lock L under token 1 (lease of 2 s) at 2.605 s.
It asked at 4.000 s to renew its lease, and was answered ok: the lock was promised to it until 6.000 s.
Worker 1 was granted the lock L under token 2 (lease of 2 s) at 5.000 s.
The two acquires overlap: that worker 2 came first is known from its smaller token alone. A lock that draws its token in a step of its own can look like this.
Worker 1 was granted the lock 1000 ms too early: it was promised to worker 2 until 6.000 s, and neither a release of that grant nor a revocation is on record before that.
`},
		{"A lease is renewed after the lock has passed on.", `
0..1       A acquire L ttl=1000 -> ok token=1
1500..1501 B acquire L ttl=1000 -> ok token=2
1502..1503 A renew L            -> ok`,
			checker.Exclusion, histories.CauseUnknown, "worker A's lease of L was renewed although the lock was promised to worker B",
			`Worker A was granted the lock L under token 1 (lease of 1 s) at 0.001 s.
Worker B was granted the lock L under token 2 (lease of 1 s) at 1.501 s; it had asked at 1.500 s, so the lock was promised to it until 2.500 s.
Worker A asked at 1.502 s to renew its older lease, and was answered ok at 1.503 s.
Two workers were promised the lock: it had been granted to worker B before worker A asked, and neither a release of that grant nor a revocation is on record before that.
`},
		{"The order is not known, and a renewal rules one out.", `
tokens: none
0..50  A acquire L ttl=1000 -> ok
1..5   B acquire L ttl=10   -> ok
51..52 B renew L            -> ok`,
			checker.Exclusion, histories.CauseUnknown, "workers A and B were granted the lock L at once",
			`Worker B was granted the lock L (lease of 10 ms) at 0.005 s.
Worker A was granted the lock L (lease of 1 s) at 0.050 s; it had asked at 0.000 s, so the lock was promised to it until 1.000 s.
Worker B asked at 0.051 s to renew its lease, and was answered ok at 0.052 s.
The two acquires overlap, and their order is not known. Either is wrong: whichever came first, the other one was granted or renewed while it was promised the lock, and neither a release of that grant nor a revocation is on record before that.
`},
		{"The tokens begin again.", `
0..1       A acquire L ttl=100 -> ok token=41
10..11     A release L         -> ok
20..21     B acquire L ttl=100 -> ok token=42
30..31     B release L         -> ok
100..200   nemesis restart etcd-1
300..301   C acquire L ttl=100 -> ok token=7`,
			checker.TokenOrder, histories.CauseReset, "token 7 of the lock L was granted after token 42",
			`Worker B was granted the lock L under token 42 (lease of 100 ms) at 0.021 s.
The nemesis did this at 0.100 s: restart etcd-1 (token reset).
Worker C was granted the lock L under token 7 (lease of 100 ms) at 0.301 s.
Token 7 came certainly after token 42, and is smaller: a fence would refuse the newer holder and let the older one pass.
`},
		{"Tokens that never grew were not reset.", `
0..1       A acquire L ttl=9   -> ok token=42
20..21     B acquire L ttl=9   -> ok token=41
300..301   C acquire L ttl=100 -> ok token=43`,
			checker.TokenOrder, histories.CauseUnknown, "token 41 of the lock L was granted after token 42",
			`Worker A was granted the lock L under token 42 (lease of 9 ms) at 0.001 s.
Worker B was granted the lock L under token 41 (lease of 9 ms) at 0.021 s.
Token 41 came certainly after token 42, and is smaller: a fence would refuse the newer holder and let the older one pass.
`},
		{"One token for two workers.", `
0..1   A acquire L ttl=9 -> ok token=42
20..21 B acquire L ttl=9 -> ok token=42`,
			checker.TokenOrder, histories.CauseUnknown, "token 42 of the lock L was granted to worker A and to worker B",
			`Worker A was granted the lock L under token 42 (lease of 9 ms) at 0.001 s.
Worker B was granted the lock L under token 42 (lease of 9 ms) at 0.021 s.
Two workers have token 42: no fence can tell them apart.
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			r := check(t, h)
			p := r.Property(test.p)
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

// A lock that issues no tokens has no order of them: the property is not in the
// result, which is not the same as valid.
func TestTokenOrderIsAbsentWithoutTokens(t *testing.T) {
	t.Parallel()
	r := check(t, parse(t, "tokens: none\n0 A acquire L ttl=1 -> ok\n10 B acquire L ttl=1 -> ok"))
	if r.Property(checker.TokenOrder) != nil {
		t.Errorf("%+v", r.Property(checker.TokenOrder))
	}
	if p := r.Property(checker.Exclusion); p == nil || p.Checked != 1 || r.Verdict != checker.Valid {
		t.Errorf("%+v", r)
	}
}

func TestMarginIsWrittenWhereThereIsOne(t *testing.T) {
	t.Parallel()
	for hist, want := range map[string]string{
		"0 A acquire L ttl=10 -> ok token=1\n5..12.5 B acquire L -> ok token=2": `"margin_ns":2500000`,
		"0 A acquire L ttl=10 -> ok token=1\n5..10 B acquire L -> ok token=2":   `"margin_ns":0`,
		"0 A acquire L ttl=10 -> ok token=1":                                    "",
	} {
		r := check(t, parse(t, hist))
		text, err := json.Marshal(r.Property(checker.Exclusion))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(text), "margin_ns"); found != (want != "") || !strings.Contains(string(text), want) {
			t.Errorf("%s, want %q", text, want)
		}
	}
}

// A broken promise names no resource: the page is then about the busiest one.
func TestPorcupinePageBesideABrokenPromise(t *testing.T) {
	t.Parallel()
	h := parse(t, "0 A acquire L ttl=1000 -> ok token=1\n1 A write R a -> ok\n5 B acquire L ttl=1000 -> ok token=2\n6 B write R b -> ok")
	r := check(t, h)
	if r.Property(checker.Exclusion).Verdict != checker.Invalid {
		t.Fatalf("%+v", r)
	}
	var page bytes.Buffer
	if err := checker.WritePorcupine(&page, h, r); err != nil || page.Len() == 0 {
		t.Errorf("%d bytes, %v", page.Len(), err)
	}
}
