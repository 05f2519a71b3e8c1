package checker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
)

// Histories whose length once cost its square: each is decided as a matter of course.
func TestLongHistories(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		make  func(line func(string, ...any))
		want  checker.Verdict
		stale checker.Verdict
	}{
		{"Only writes have numbers; every worker reads and writes once.", func(line func(string, ...any)) {
			line("guards: L -> R\ninitial: R = v0")
			for i := range 8000 {
				line("%d W%d acquire L ttl=1 -> ok token=%d", 3*i, i, i)
				line("%d W%d read R -> ok value=v%d", 3*i+1, i, i)
				line("%d W%d write R v%d -> ok seq=%d", 3*i+2, i, i+1, i)
			}
		}, checker.Valid, checker.Valid},
		{"The look-alike: one of them reads too early.", func(line func(string, ...any)) {
			line("guards: L -> R\ninitial: R = v0")
			for i := range 8000 {
				seen := i - i/7999
				line("%d W%d acquire L ttl=1 -> ok token=%d", 3*i, i, i)
				line("%d W%d read R -> ok value=v%d", 3*i+1, i, seen)
				line("%d W%d write R v%d -> ok seq=%d", 3*i+2, i, i+1, i)
			}
		}, checker.Invalid, checker.Valid},
		{"Three workers in turn, without tokens.", func(line func(string, ...any)) {
			line("tokens: none\nguards: L -> R")
			for i := range 20000 {
				line("%d W%d acquire L -> ok", 3*i, i%3)
				line("%d W%d write R v%d -> ok", 3*i+1, i%3, i)
				line("%d W%d release L -> ok", 3*i+2, i%3)
			}
		}, checker.Valid, checker.Valid},
		{"The look-alike: the last write is of the first grant.", func(line func(string, ...any)) {
			line("tokens: none\nguards: L -> R")
			for i := range 20000 {
				line("%d W%d acquire L -> ok", 3*i, i%3)
				line("%d W%d write R v%d -> ok", 3*i+1, i%3, i)
			}
			line("90000 W0 write R late grant=W0.1 -> ok")
		}, checker.Invalid, checker.Invalid},
		{"One worker's grants are nested, however many there are.", func(line func(string, ...any)) {
			line("tokens: none\nguards: L -> R")
			for i := range 20000 {
				line("%d A acquire L -> ok", 2*i)
				line("%d A write R v%d -> ok", 2*i+1, i)
			}
			for i := range 20000 {
				line("%d A write R w%d grant=A.1 -> ok", 40000+i, i)
			}
		}, checker.Valid, checker.Valid},
		{"Whoever stands still is paused again and again.", func(line func(string, ...any)) {
			line("guards: L -> R\n0 A acquire L ttl=1000 -> ok token=1")
			for i := range 60000 {
				line("%d nemesis pause A", i+1)
			}
			line("60002 B acquire L -> ok token=2\n60003 B write R b -> ok\n60004 nemesis resume A\n60005 A write R a -> ok")
		}, checker.Invalid, checker.Invalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			test.make(func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) })
			r := check(t, parse(t, text.String()))
			if stale := r.Property(checker.StaleWrite); r.Verdict != test.want || stale.Verdict != test.stale {
				t.Errorf("%s (%s), stale-write %s", r.Verdict, r.Why, stale.Verdict)
			}
			if n := len(r.Coverage.Trials); n > 1 {
				t.Errorf("%d trials", n)
			}
		})
	}
}
