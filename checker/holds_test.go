package checker_test

import (
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
)

func TestHoldStories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, hist, title, want string
	}{
		{
			"Nobody had answered the acquire.",
			"tokens: none\n0..5000 A acquire L ttl=60000 -> info timeout\n5010..5011 A write R a -> ok",
			"worker A wrote a on R without a grant of the lock L",
			"Worker A asked for the lock L (lease of 60 s) at 0.000 s, and had no answer.\n" +
				"It wrote a at 5.010 s without a grant of the lock L: accepted at 5.011 s.\n",
		},
		{
			"Nobody had asked.",
			"tokens: none\n0..1 B acquire L -> ok\n10 A open R -> ok",
			"worker A opened the resource on R without a grant of the lock L",
			"Worker A opened the resource at 0.010 s without a grant of the lock L: accepted at 0.010 s.\n",
		},
		{
			"The hold was over.",
			"0..1 A acquire L -> ok token=4\n5..6 A release L -> ok\n10..11 A write R a token=4 -> ok",
			"worker A wrote a on R after it had released the lock L",
			"Worker A was granted the lock L under token 4 at 0.001 s.\n" +
				"It asked at 0.005 s to release the lock, and was answered ok at 0.006 s.\n" +
				"It wrote a at 0.010 s after it had released the lock L: accepted at 0.011 s.\n",
		},
		{
			"The token was another's.",
			"0..1 A acquire L ttl=1 -> ok token=4\n5..6 B acquire L -> ok token=5\n10..11 A write R a token=5 -> ok",
			"worker A wrote a on R with token 5, which was granted to worker B, and not with its own",
			"Worker A was granted the lock L under token 4 (lease of 1 ms) at 0.001 s.\n" +
				"Worker B was granted the lock L under token 5 at 0.006 s.\n" +
				"Worker A wrote a at 0.010 s with token 5, which was granted to worker B, and not with its own: accepted at 0.011 s.\n",
		},
		{
			"The token was nobody's.",
			"0..1 A acquire L -> ok token=4\n10..11 A write R a token=9 -> ok",
			"worker A wrote a on R with token 9, which is not the one of its grant",
			"Worker A was granted the lock L under token 4 at 0.001 s.\n" +
				"It wrote a at 0.010 s with token 9, which is not the one of its grant: accepted at 0.011 s.\n",
		},
		{
			"The decision was an old one.",
			"0..1 A acquire L -> ok token=4\n2..3 A release L -> ok\n5..6 A acquire L -> ok token=5\n10..11 A write R a token=5 under=A.1 -> ok",
			"worker A wrote a on R under token 5, on a decision taken under token 4",
			"Worker A was granted the lock L under token 4 at 0.001 s.\n" +
				"It was granted the lock L under token 5 at 0.006 s.\n" +
				"It wrote a at 0.010 s under token 5, on a decision taken under token 4: accepted at 0.011 s.\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, test.hist))
			p := r.Property(checker.Hold)
			if p.Verdict != checker.Invalid || p.Role != checker.Gate || p.Violations != 1 {
				t.Fatalf("%+v", p)
			}
			if w := p.Witnesses[0]; w.Title != test.title || story(w) != test.want {
				t.Errorf("%s\n%s", w.Title, story(w))
			}
			again := check(t, parse(t, p.Witnesses[0].Histories))
			if q := again.Property(checker.Hold); q.Verdict != checker.Invalid {
				t.Errorf("alone it is %s:\n%s", q.Verdict, p.Witnesses[0].Histories)
			}
		})
	}
}

func TestHoldUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ hist, want string }{
		{"0..1 A acquire L -> ok token=4\n5..6 A release L -> info timeout\n10..11 A write R a token=4 -> ok",
			`worker "A" may have acted on resource "R" outside its hold: the release before it has no answer`},
		{"0..1 A acquire L -> ok token=4\n5..6 A release L -> ok\n10..11 A write R a token=4 -> info timeout",
			`worker "A" may have acted on resource "R" outside its hold: its operation has no answer`},
	} {
		r := check(t, parse(t, test.hist))
		if p := r.Property(checker.Hold); p.Verdict != checker.Unknown || p.Why != test.want || p.Checked == 0 {
			t.Errorf("%+v", p)
		}
	}
}
