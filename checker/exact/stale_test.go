package exact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
	"github.com/leasehold-checker/leasehold/checker/model"
)

// TestStaleWrite: what no order explains is found, with few operations to show it (by
// their places among the accepted operations), and what only looks like it is not.
func TestStaleWrite(t *testing.T) {
	t.Parallel()
	const two = `
0..1 A acquire L -> ok token=1
2..3 B acquire L -> ok token=2
`
	stale := model.Question{Values: true, Grants: true}
	tests := []struct {
		name, hist string
		q          model.Question
		want       string
	}{
		// By time alone.
		{"the older grant writes after the newer", two + `
10..11 B write R b -> ok
12..13 A write R a -> ok
`, stale, "illegal [0 1]"},
		{"they overlap: it may have been the first", two + `
10..12 B write R b -> ok
12..13 A write R a -> ok
`, stale, "legal [1 0]"},
		{"the older one is refused", two + `
10..11 B write R b -> ok
12..13 A write R a -> fail fenced
`, stale, "legal [0]"},
		{"the newer one only reads", two + `
10..11 B read R -> ok value=
12..13 A write R a -> ok
`, stale, "legal [0 1]"},
		{"the newer one only reads, but the fence counts reads", "fence: all\n" + two + `
10..11 B read R -> ok value=
12..13 A write R a -> ok
`, stale, "illegal [0 1]"},
		{"whoever has no grant is not looked at", two + `
10..11 B write R b -> ok
12..13 C write R c -> ok
`, stale, "legal [0 1]"},
		{"a worker takes the lock twice, and nobody in between", `
0..1 A acquire L -> ok token=1
2..3 A acquire L -> ok token=2
10..11 A write R a2 grant=A.2 -> ok
12..13 A write R a1 grant=A.1 -> ok
`, stale, "legal [0 1]"},

		// Through values.
		{"a value read at last says which was the first", two + `
10..30 A write R a -> ok
11..14 B write R b -> ok
15..16 C read R -> ok value=b
17..18 C read R -> ok value=a
`, stale, "illegal [0 1 3]"},
		{"two values read in between say it", two + `
10..30 A write R a -> ok
11..30 B write R b -> ok
15..16 C read R -> ok value=b
17..18 C read R -> ok value=a
`, stale, "illegal [0 1 2 3]"},
		{"the other way round", two + `
10..30 A write R a -> ok
11..30 B write R b -> ok
15..16 C read R -> ok value=a
17..18 C read R -> ok value=b
`, stale, "legal [0 2 1 3]"},
		{"and without the second read", two + `
10..30 A write R a -> ok
11..20 B write R b -> ok
15..16 C read R -> ok value=a
`, stale, "legal [0 2 1]"},
		{"an unanswered write that was read too late", two + `
10..   A write R a -> info
11..12 B write R b -> ok
13..14 C read R -> ok value=a
`, stale, "illegal [0 1 2]"},
		{"an unanswered write that nobody read", two + `
10..   A write R a -> info
11..12 B write R b -> ok
13..14 C read R -> ok value=b
`, stale, "legal [1 2]"},
		{"an open between a write and the read of its value", "fence: all\n" + two + `
10..11 A write R a -> ok
12..13 B open R -> ok
14..15 C read R -> ok value=a
`, stale, "legal [0 1 2]"},
		{"the initial value after a write", two + `
10..11 A write R a -> ok
12..13 B read R -> ok value=
`, stale, "illegal [0 1]"},
		{"a value that nobody wrote", two + `
10..11 B write R b -> ok
12..13 A read R -> ok value=x
`, stale, "illegal [1]"},

		// Without values, because no order explains them.
		{"the older grant writes first", two + `
10..11 A write R a -> ok
12..13 B write R b -> ok
14..15 B read R -> ok value=a
`, model.Question{Grants: true}, "legal [0 1 2]"},
		{"an unanswered write counts only where values do", two + `
10..   A write R a -> info
11..12 B write R b -> ok
13..14 C read R -> ok value=a
`, model.Question{Grants: true}, "legal [1 2]"},

		// Numbers.
		{"numbers win over time", two + `
10..11 B write R b -> ok seq=2
12..13 A write R a -> ok seq=1
`, stale, "legal [1 0]"},
		{"numbers tell what overlaps apart", two + `
10..20 B write R b -> ok seq=1
10..20 A write R a -> ok seq=2
`, stale, "illegal [0 1]"},
		{"numbers that contradict time", `
0..1 A acquire L -> ok token=1
10..11 A write R a -> ok seq=2
12..13 A write R b -> ok
14..15 A write R c -> ok seq=1
`, model.Question{}, "illegal [0 1 2]"},
		{"by the numbers alone", two + `
10..11 A write R a -> ok seq=2
12..13 A write R b -> ok
14..15 B write R c -> ok seq=1
`, model.Question{Grants: true, SeqOnly: true}, "illegal [0 2]"},
		{"what has no number then may stand anywhere", two + `
10..11 B write R b -> ok seq=1
12..13 A write R a -> ok
`, model.Question{Grants: true, SeqOnly: true}, "legal [1 0]"},

		// Values that two wrote.
		{"what is illegal whoever wrote it", two + `
10..11 B write R b -> ok
12..13 A write R a -> ok
14..15 C write R a -> ok
16..17 C read R -> ok value=a
`, stale, "illegal [0 1]"},
		{"a read keeps both writes of its value", "fence: all\n" + two + `
4..5 C write R a -> ok
6..7 C write R a -> ok
10..11 B read R -> ok value=a
12..13 A write R b -> ok
`, stale, "illegal [0 1 2 3]"},
		{"an order that happens to explain it", two + `
10..11 A write R a -> ok
12..13 B write R a -> ok
14..15 B read R -> ok value=a
`, stale, "legal [0 1 2]"},
		{"an order that does not", two + `
10..11 A write R a -> ok
12..13 A write R a -> ok
14..15 B write R b -> ok
16..17 C read R -> ok value=a
`, stale, "undecided a value that was read was written twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := book(t, test.hist).Resources()[0]
			d := exact.NewSolver(r).Decide(context.Background(), test.q)
			if got := told(d); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if err := r.Confirm(context.Background(), test.q, d); err != nil {
				t.Error(err)
			}
		})
	}
}

func told(d model.Decision) string {
	switch d.Answer {
	case model.Legal:
		return fmt.Sprint("legal ", d.Order)
	case model.Illegal:
		return fmt.Sprint("illegal ", d.Core)
	}
	return "undecided " + d.Why
}

// Questions that nobody asks of a history are refused, not answered somehow.
func TestUnaskedQuestions(t *testing.T) {
	t.Parallel()
	s := exact.NewSolver(book(t, "0..1 A acquire L -> ok token=1\n2..3 A write R a -> ok\n").Resources()[0])
	for _, q := range []model.Question{
		{Values: true, Grants: true, Bases: true}, {Bases: true}, {Values: true, SeqOnly: true}, {Values: true, Grants: true, SeqOnly: true},
	} {
		if d := s.Decide(context.Background(), q); d.Answer != model.Undecided || d.Why == "" {
			t.Errorf("%+v: %+v", q, d)
		}
	}
}

func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := book(t, "0..1 A acquire L -> ok token=1\n2..3 A write R a -> ok\n4..5 A read R -> ok value=a\n").Resources()[0]
	for _, q := range questions {
		s := exact.NewSolver(r)
		if d := s.Decide(ctx, q); d.Answer != model.Undecided || d.Why == "" {
			t.Errorf("%+v: %+v", q, d)
		}
		if d := s.Decide(context.Background(), q); d.Answer != model.Legal { // nothing half-done is remembered
			t.Errorf("%+v afterwards: %+v", q, d)
		}
	}
}

// Shapes that are made to hurt: none may take a time, a stack or a memory that grows
// with the square of the history.
func TestLargeShapes(t *testing.T) {
	t.Parallel()
	const n = 30_000
	shapes := []struct {
		name, head string
		line       func(i int) string // at time i
		last       string             // at time n
		want       model.Answer
	}{
		{"each by a worker of its own", "", func(i int) string { return fmt.Sprintf("%d..%d W%d write R v%d -> ok", i, i+9, i, i) }, "", model.Legal},
		{"all at the same time", "", func(i int) string { return fmt.Sprintf("%d..%d W%d write R v%d -> ok", i, n, i, i) }, "", model.Legal},
		{"times that touch", "", func(i int) string { return fmt.Sprintf("%d..%d W write R v%d -> ok", i, i+1, i) }, "", model.Legal},
		{"nothing answered", "", func(i int) string { return fmt.Sprintf("%d.. W%d write R v%d -> info", i, i, i) }, "", model.Legal},
		{"all reads of one value", "4 A write R v -> ok\n", func(i int) string { return fmt.Sprintf("%d W%d read R -> ok value=v", i, i%9) }, "", model.Legal},
		{"one number", "4 A write R v -> ok seq=1\n", func(i int) string { return fmt.Sprintf("%d W%d read R -> ok value=v seq=1", i, i%9) }, "", model.Legal},
		{"numbers on every other read", "4 A write R v -> ok seq=1\n", func(i int) string {
			return fmt.Sprintf("%d W%d read R -> ok value=v", i, i%9) + strings.Repeat(" seq=1", i%2)
		}, "", model.Legal},
		{"numbers against time", "", func(i int) string { return fmt.Sprintf("%d W%d write R v%d -> ok seq=%d", i, i%9, i, n-i) }, "", model.Legal},
		{"one stale write after all", "", func(i int) string { return fmt.Sprintf("%d B write R v%d -> ok", i, i) }, "A write R a -> ok", model.Illegal},
		{"the initial value at the end", "", func(i int) string { return fmt.Sprintf("%d B write R v%d -> ok", i, i) }, "A read R -> ok value=", model.Illegal},
		{"a long way round", "", func(i int) string {
			return fmt.Sprintf("%d..%d W%d write R v%d -> ok", i, i+2, i%9, i)
		}, "A read R -> ok value=v5", model.Illegal},
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			var hist strings.Builder
			hist.WriteString("1 A acquire L -> ok token=1\n2 B acquire L -> ok token=2\n" + shape.head)
			for i := 5; i < n; i++ {
				hist.WriteString(shape.line(i) + "\n")
			}
			if shape.last != "" {
				fmt.Fprintf(&hist, "%d %s\n", n+5, shape.last)
			}
			checkLarge(t, hist.String(), shape.want)
		})
	}
}

// checkLarge asks all questions; on a legal history all are legal.
func checkLarge(t *testing.T, hist string, want model.Answer) {
	t.Helper()
	r := book(t, hist).Resources()[0]
	s := exact.NewSolver(r)
	for _, q := range questions {
		d := s.Decide(context.Background(), q)
		if d.Answer != want && (want == model.Legal || q.Values && q.Grants) || d.Answer == model.Undecided || len(d.Core) > 4 {
			t.Errorf("%+v: %v %s, core %v", q, d.Answer, d.Why, d.Core)
		}
		if err := r.Confirm(context.Background(), q, d); err != nil {
			t.Error(err)
		}
	}
}

// One resource may be used under any number of locks, each with an order of its own.
func TestManyLocks(t *testing.T) {
	t.Parallel()
	const n = 3000
	for last, want := range map[string]model.Answer{"": model.Legal, "A write R a lock=L7 -> ok": model.Illegal} {
		t.Run(want.String(), func(t *testing.T) {
			t.Parallel()
			var hist strings.Builder
			for k := range n {
				fmt.Fprintf(&hist, "%d A acquire L%d -> ok token=1\n%d A write R a%d lock=L%d -> ok\n", 10*k, k, 10*k+1, k, k)
				fmt.Fprintf(&hist, "%d B acquire L%d -> ok token=2\n%d B write R b%d lock=L%d -> ok\n", 10*k+2, k, 10*k+3, k, k)
			}
			if last != "" {
				fmt.Fprintf(&hist, "%d %s\n", 10*n, last)
			}
			checkLarge(t, hist.String(), want)
		})
	}
}

// Without usable tokens grants have no order in a line. Here five workers take the
// lock again and again beside each other: a grant comes before most later ones, but
// not before those that overlap it, nor before the worker's own if nobody lies between.
func TestManyGrantsWithoutTokens(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for name, token := range map[string]func(k int) string{
		"none":          func(int) string { return "" },
		"one a worker":  func(k int) string { return fmt.Sprint(" token=", k%5) },
		"all different": func(k int) string { return fmt.Sprint(" token=", k^4) },
	} {
		for last, want := range map[string]model.Answer{"": model.Legal, "W0 write R a grant=W0.1 -> ok": model.Illegal} {
			t.Run(name+" "+want.String(), func(t *testing.T) {
				t.Parallel()
				var hist strings.Builder
				if token(1) == "" {
					hist.WriteString("tokens: none\n")
				}
				for k := range n {
					fmt.Fprintf(&hist, "%d..%d W%d acquire L -> ok%s\n", 10*k, 10*k+41, k%5, token(k))
					if k >= 4 { // of the grant four before, answered just now
						fmt.Fprintf(&hist, "%d..%d W%d write R v%d -> ok\n", 10*k+2, 10*k+6, (k-4)%5, k)
					}
				}
				if last != "" {
					fmt.Fprintf(&hist, "%d %s\n", 10*n+100, last)
				}
				checkLarge(t, hist.String(), want)
			})
		}
	}
}
