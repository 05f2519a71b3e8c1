package checker_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// demo is one trial as a directed run makes it.
const demo = `
fence: off
guards: L1 -> R1
initial: R1 = a0
0..2       1 acquire L1 ttl=2000    -> ok token=33
3..4       1 read R1 token=33       -> ok value=a0 seq=0
490..491   1 check L1               -> ok held=true
499..500   nemesis pause 1 point=checked
1000..2610 2 acquire L1 ttl=2000    -> ok token=34
2602       store expire L1 of 1
2611..2612 2 read R1 token=34       -> ok value=a0 seq=0
2620..2622 2 write R1 b1 token=34   -> ok seq=1
4000       nemesis resume 1
4001..4003 1 write R1 a1 token=33   -> ok seq=2
4010..4011 1 read R1 token=33       -> ok value=a1 seq=2
6000       end
`

func story(w checker.Witness) string {
	var b strings.Builder
	for _, s := range w.Story {
		b.WriteString(s.Text + "\n")
	}
	return b.String()
}

func TestStory(t *testing.T) {
	t.Parallel()
	want := `Worker 1 was granted the lock L1 under token 33 (lease of 2 s) at 0.002 s.
It read a0 and checked that it still held the lock; then it was stopped at 0.500 s (code point checked).
Its lease ran out: the store ended it at 2.602 s. The store did the right thing.
Worker 2 had been waiting, and was granted token 34 at 2.610 s.
It wrote b1; the resource took it as number 1.
Worker 1 went on at 4.000 s after 3.500 s, still believing that it held the lock, and wrote a1 under token 33: accepted as number 2.
Worker 1 then read a1; b1 is gone: an acknowledged update is lost.
`
	r := check(t, parse(t, demo))
	for _, p := range r.Properties {
		if len(p.Witnesses) != 1 || p.Violations != 1 || p.Cause != histories.CausePaused {
			t.Fatalf("%+v", p)
		}
		w := p.Witnesses[0]
		if got := story(w); got != want {
			t.Errorf("%s:\n%s", p.Property, got)
		}
		if w.Story[2].Mood != checker.Right || w.Stale != 9 || w.Lock != "L1" || w.Resource != "R1" {
			t.Errorf("%+v", w)
		}
	}
}

// A story says what the history says, and no more.
func TestStoryClaimsNothing(t *testing.T) {
	t.Parallel()
	without := func(line string) string {
		var rest []string
		for l := range strings.Lines(demo) {
			if !strings.Contains(l, line) {
				rest = append(rest, l)
			}
		}
		return strings.Join(rest, "")
	}
	tests := []struct {
		name  string
		hist  string
		has   string
		lacks string
		cause histories.Cause
	}{
		{"Without an end line the store is not said to be right.", without("store expire"),
			"lease was promised until 2.000 s; the next grant came after that.", "right thing", histories.CausePaused},
		{"An end line before the promised time is no right thing.", strings.Replace(demo, "2602       store expire L1 of 1", "1500       store expire L1 of 1", 1),
			"ended by the store at 1.500 s, before the promised 2.000 s", "right thing", histories.CausePaused},
		{"A grant before the promised end is told as such.", strings.Replace(without("store expire"), "1000..2610 2 acquire", "1000..1610 2 acquire", 1),
			"promised until 2.000 s, but the next grant came before that", "right thing", histories.CausePaused},
		{"Renewals move the promise.", strings.Replace(strings.Replace(demo, "490..491   1 check L1               -> ok held=true", "490..491   1 renew L1 -> ok", 1),
			"2602       store expire", "2400       store expire", 1),
			"ended by the store at 2.400 s, before the promised 2.490 s", "right thing", histories.CausePaused},
		{"Without a check nobody is said to have believed anything.", without("1 check"), "went on at 4.000 s", "believing", histories.CausePaused},
		{"Whoever was told that the lease is lost does not believe.", strings.Replace(demo, "4001..4003 1 write", "4000.5 1 lost L1\n4001..4003 1 write", 1),
			"went on at 4.000 s", "believing", histories.CausePaused},
		{"What was read after the stop was not read before it.", strings.Replace(without("1 read"), "2611..2612 2 read R1", "2605..2606 1 read R1                 -> ok value=a0 seq=0\n2611..2612 2 read R1", 1),
			"still believing that it held the lock, read a0, and wrote a1", "It read a0", histories.CausePaused},
		{"Without a pause nobody was stopped.", without("nemesis"), "Worker 1 wrote a1 under token 33", "stopped", histories.CauseUnknown},
		{"A pause of somebody else is no cause.", strings.ReplaceAll(demo, "pause 1", "pause 7"), "Worker 1 wrote a1", "stopped", histories.CauseUnknown},
		{"Nobody is said to have gone on if that is not on file.", strings.Replace(demo, "4000       nemesis resume 1\n", "", 1),
			"Worker 1 wrote a1", "went on", histories.CausePaused},
		{"An acquire that was asked for after the lease had ended did not wait.", strings.Replace(strings.Replace(demo, "1000..2610 2 acquire L1 ttl=2000    -> ok token=34\n", "", 1),
			"2602       store expire L1 of 1\n", "2602       store expire L1 of 1\n2605..2610 2 acquire L1 ttl=2000    -> ok token=34\n", 1),
			"Worker 2 was granted token 34", "waiting", histories.CausePaused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := parse(t, test.hist)
			r := check(t, h)
			w := r.Property(checker.StaleWrite).Witnesses[0]
			got := story(w)
			if !strings.Contains(got, test.has) || strings.Contains(got, test.lacks) || w.Cause != test.cause {
				t.Errorf("cause %q:\n%s", w.Cause, got)
			}
		})
	}
}

// A stop after the answer to the late write explains nothing: here the resource took
// the write late.
func TestLaterPauseIsNoCause(t *testing.T) {
	t.Parallel()
	h := parse(t, `
0..2       1 acquire L ttl=2000  -> ok token=33
1990..1992 1 write R a1 token=33 -> ok seq=2
2000       nemesis pause 1
2600..2605 2 acquire L ttl=2000  -> ok token=34
2620..2622 2 write R b1 token=34 -> ok seq=1
3000       nemesis resume 1`)
	r := check(t, h)
	if p := r.Property(checker.StaleWrite); p.Verdict != checker.Invalid || p.Cause != histories.CauseUnknown {
		t.Errorf("%s, cause %q", p.Verdict, p.Cause)
	}
}

// The store's end lines name a worker. Where an earlier acquire of it may still be
// open, they may be about that one, and nothing is said of the lease.
func TestDoubtfulEndLines(t *testing.T) {
	t.Parallel()
	const rest = `
2000..2010 2 acquire L ttl=500 -> ok token=9
2020..2030 2 write R b -> ok
2040..2050 1 write R a -> ok`
	tests := []struct {
		name, hist string
		sure       bool
	}{
		{"one grant, one line", "1000 1 acquire L ttl=500 -> ok token=2\n1600 store expire L of 1", true},
		{"the earlier grant was never released", "0 1 acquire L ttl=900 -> ok token=1\n1000 1 acquire L ttl=500 -> ok token=2\n1600 store expire L of 1", false},
		{"it was", "0 1 acquire L ttl=900 -> ok token=1\n10 1 release L -> ok\n1000 1 acquire L ttl=500 -> ok token=2\n1600 store expire L of 1", true},
		{"it has a line of its own", "0 1 acquire L ttl=900 -> ok token=1\n950 store expire L of 1\n1000 1 acquire L ttl=500 -> ok token=2\n1600 store expire L of 1", true},
		{"an earlier acquire is unknown", "0 1 acquire L ttl=900 -> info\n1000 1 acquire L ttl=500 -> ok token=2\n1600 store expire L of 1", false},
		{"the line is older than the grant", "0 1 acquire L ttl=900 -> ok token=1\n10 1 release L -> ok\n950 store expire L of 1\n1000 1 acquire L ttl=500 -> ok token=2", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, test.hist+rest))
			got := story(r.Property(checker.StaleWrite).Witnesses[0])
			if strings.Contains(got, "The store did the right thing.") != test.sure {
				t.Error(got)
			}
		})
	}
}

// A stop from before the grant explains nothing, whenever it ended.
func TestOldPauseIsNoCause(t *testing.T) {
	t.Parallel()
	h := parse(t, `
0        nemesis pause A
1        nemesis resume A -> info
5..6     A acquire L ttl=100 -> ok token=1
200..210 B acquire L -> ok token=2
220..230 B write R b -> ok
240..250 A write R a -> ok`)
	r := check(t, h)
	if p := r.Property(checker.StaleWrite); p.Verdict != checker.Invalid || p.Cause != histories.CauseUnknown {
		t.Errorf("%s, cause %q", p.Verdict, p.Cause)
	}
}

// The stop ends before the successor asks: it explains nothing.
func TestEarlyPauseIsNoCause(t *testing.T) {
	t.Parallel()
	h := parse(t, `
0..1     A acquire L ttl=100 -> ok token=1
10       nemesis pause A
20       nemesis resume A
200..210 B acquire L -> ok token=2
220..230 B write R b -> ok
240..250 A write R a -> ok`)
	r := check(t, h)
	if p := r.Property(checker.StaleWrite); p.Verdict != checker.Invalid || p.Cause != histories.CauseUnknown {
		t.Errorf("%s, cause %q", p.Verdict, p.Cause)
	}
}
