package checker_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
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
		if p.Property == checker.Exclusion || p.Property == checker.TokenOrder {
			if p.Verdict != checker.Valid || p.Checked == 0 {
				t.Errorf("%+v", p)
			}
			continue
		}
		if p.Property != checker.StaleWrite && p.Property != checker.LostUpdate {
			continue // they have tests of their own
		}
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

// The stop that is told is the one that matters, and a harmless one is no cause.
func TestWhichPause(t *testing.T) {
	t.Parallel()
	const grant = "0..1 1 acquire L ttl=1000 -> ok token=1\n"
	tests := []struct {
		name  string
		hist  string
		cause histories.Cause
		has   string
		lacks string
	}{
		{"Two milliseconds while somebody waits, and a renewal after it, explain nothing.", grant + `5 nemesis pause 1
6..1200 2 acquire L ttl=1000 -> ok token=2
7 nemesis resume 1
8 1 renew L -> ok
1203..1204 2 write R b -> ok
1303..1304 1 write R a token=1 -> ok`, histories.CauseUnknown, "Worker 1 wrote a", "stopped"},
		{"Nor if it read something while its lease stood.", grant + `5 nemesis pause 1
6..1200 2 acquire L ttl=1000 -> ok token=2
7 nemesis resume 1
8 1 read R -> ok value=0
1203..1204 2 write R b -> ok
1303..1304 1 write R a token=1 -> ok`, histories.CauseUnknown, "It read 0.", "stopped"},
		{"The look-alike: the renewal was before the stop, in which the lease ended.", grant + `4 1 renew L -> ok
5 nemesis pause 1
6..1200 2 acquire L ttl=1000 -> ok token=2
1203..1204 2 write R b -> ok
1301 nemesis resume 1
1303..1304 1 write R a token=1 -> ok`, histories.CausePaused, "went on at 1.301 s", ""},
		{"Of two stops it is the one in which the lease ended.", grant + `5 nemesis pause 1
6..1200 2 acquire L ttl=1000 -> ok token=2
7 nemesis resume 1
500 nemesis pause 1
1203..1204 2 write R b -> ok
1301 nemesis resume 1
1303..1304 1 write R a token=1 -> ok`, histories.CausePaused, "stopped at 0.500 s", "stopped at 0.005 s"},
		{"And not a short one after it.", grant + `500 nemesis pause 1
600..1200 2 acquire L ttl=1000 -> ok token=2
1201 nemesis resume 1
1202 nemesis pause 1
1203..1204 2 write R b -> ok
1205 nemesis resume 1
1303..1304 1 write R a token=1 -> ok`, histories.CausePaused, "stopped at 0.500 s", "1.202"},
		{"A holder that takes its time after the stop may meet the second grant of its successor.", grant + `500 nemesis pause 1
600..1200 2 acquire L ttl=1000 -> ok token=2
1201 nemesis resume 1
1300 2 release L -> ok
1400..1401 2 acquire L ttl=1000 -> ok token=3
1403..1404 2 write R b -> ok
1503..1504 1 write R a token=1 -> ok`, histories.CausePaused, "went on at 1.201 s after 0.701 s", ""},
		{"Where the end of the lease is not known, the successor's grant tells.", `0..1 1 acquire L -> ok token=1
500 nemesis pause 1
600..700 2 acquire L -> ok token=2
800 nemesis resume 1
803..804 2 write R b -> ok
903..904 1 write R a token=1 -> ok`, histories.CausePaused, "went on at 0.800 s", ""},
		{"Work of the old holder after the end proves nothing: it still explains the second stale write.", grant + `500 nemesis pause 1
600..1200 2 acquire L ttl=1000 -> ok token=2
1201 nemesis resume 1
1202 1 read R -> ok value=0
1203..1204 2 write R b -> ok
1303..1304 1 write R a token=1 -> ok`, histories.CausePaused, "went on at 1.201 s", ""},
		{"A resume that nobody confirmed ends the certain stop.", grant + `500 nemesis pause 1
600..1200 2 acquire L ttl=1000 -> ok token=2
1201 nemesis resume 1 -> info
1203..1204 2 write R b -> ok
1303..1304 1 write R a token=1 -> ok`, histories.CausePaused, "was told to go on at 1.201 s", "went on"},
		{"So a stop with such an end before the successor asked explains nothing.", grant + `5 nemesis pause 1
7 nemesis resume 1 -> info
1190..1200 2 acquire L ttl=1000 -> ok token=2
1203..1204 2 write R b -> ok
1303..1304 1 write R a token=1 -> ok`, histories.CauseUnknown, "Worker 1 wrote a", "stopped"},
		{"A request that was under way at the stop was not sent after it.", grant + `499..1304 1 write R a token=1 -> ok seq=2
500 nemesis pause 1 point=sent
600..1200 2 acquire L ttl=1000 -> ok token=2
1203..1204 2 write R b -> ok seq=1
1301 nemesis resume 1`, histories.CausePaused, "wrote a under token 1, asked for at 0.499 s, before it was stopped: accepted", "went on"},
		{"The look-alike: its invocation is on file, and no byte was sent.", grant + `499..1304 1 write R a token=1 -> ok seq=2
500 nemesis pause 1 point=before-write
600..1200 2 acquire L ttl=1000 -> ok token=2
1203..1204 2 write R b -> ok seq=1
1301 nemesis resume 1`, histories.CausePaused, "went on at 1.301 s", "asked for at"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, "guards: L -> R\ninitial: R = 0\n"+test.hist+"\n"))
			w := r.Property(checker.StaleWrite).Witnesses[0]
			got := story(w)
			if w.Cause != test.cause || !strings.Contains(got, test.has) || test.lacks != "" && strings.Contains(got, test.lacks) {
				t.Errorf("cause %q:\n%s", w.Cause, got)
			}
		})
	}
}

// Nobody is said to have believed in a lease that it had given up, or was told to be
// gone.
func TestBelieves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		line string // after the check
		want bool
	}{
		{"nothing since the check", "", true},
		{"a release, answered", "11 1 release L -> ok", false},
		{"a release that failed", "11 1 release L -> fail", false},
		{"a release without an answer", "11..12 1 release L -> info timeout", false},
		{"a release that leaves holds", "11 1 release L -> ok count=1", true},
		{"a renewal that failed", "11 1 renew L -> fail lost", false},
		{"a renewal without an answer", "11 1 renew L -> info timeout", true},
		{"told that it is lost", "11 1 lost L", false},
		{"a check that says no", "11 1 check L -> ok held=false", false},
		{"a second check", "11 1 release L -> fail\n12 1 check L -> ok held=true", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, `0..1 1 acquire L ttl=1000 -> ok token=1
10 1 check L -> ok held=true
`+test.line+`
500 nemesis pause 1
600..1200 2 acquire L ttl=1000 -> ok token=2
1203..1204 2 write R b -> ok
1301 nemesis resume 1
1303..1304 1 write R a token=1 grant=1.1 -> ok
`))
			got := story(r.Property(checker.StaleWrite).Witnesses[0])
			if strings.Contains(got, "still believing") != test.want {
				t.Error(got)
			}
		})
	}
}

// How the older lease ended: by its own release if there was one, and the store is
// only praised for what it did right.
func TestHowTheLeaseEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		hist  string
		has   string
		lacks string
	}{
		{"An unanswered release may have freed the lock.", `0..1 1 acquire L ttl=1000 -> ok token=1
10..12 1 release L -> info timeout
20..21 2 acquire L ttl=1000 -> ok token=2`, "asked at 0.010 s to release the lock, and had no answer", "came before that"},
		{"A failed one did not.", `0..1 1 acquire L ttl=1000 -> ok token=1
10..12 1 release L -> fail
20..21 2 acquire L ttl=1000 -> ok token=2`, "but the next grant came before that", "release"},
		{"A release that leaves holds frees nothing.", `0..1 1 acquire L ttl=1000 -> ok token=1
10..12 1 release L -> ok count=1
20..21 2 acquire L ttl=1000 -> ok token=2`, "but the next grant came before that", "released the lock"},
		{"A release that leaves none does.", `0..1 1 acquire L ttl=1000 -> ok token=1
10..12 1 release L -> ok count=0
20..21 2 acquire L ttl=1000 -> ok token=2`, "released the lock at 0.010 s", "came before that"},
		{"A release without a count ends nested grants, too.", `0..1 1 acquire L ttl=1000 -> ok token=1
2..3 1 acquire L ttl=1000 -> ok token=1
10..12 1 release L grant=1.2 -> ok
20..21 2 acquire L ttl=1000 -> ok token=2`, "released the lock at 0.010 s", "came before that"},
		{"A lease that ended before the acquire was answered is nothing to be praised for.", `0..1200 1 acquire L ttl=1000 -> ok token=1
1100 store expire L of 1
1210..1221 2 acquire L ttl=1000 -> ok token=2`, "before the grant was answered", "right thing"},
		{"Unless the worker stood still meanwhile.", `0..1200 1 acquire L ttl=1000 -> ok token=1
10 nemesis pause 1
1100 store expire L of 1
1150..1155 2 acquire L ttl=1000 -> ok token=2
1199 nemesis resume 1`, "The store did the right thing.", "before the grant was answered"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, test.hist+"\n1230..1231 2 write R b -> ok\n1240..1241 1 write R a grant=1.1 -> ok\n"))
			got := story(r.Property(checker.StaleWrite).Witnesses[0])
			if !strings.Contains(got, test.has) || strings.Contains(got, test.lacks) {
				t.Error(got)
			}
		})
	}
}

// A value decided under an old grant and written under a new one, after a refusal.
func TestOldDecision(t *testing.T) {
	t.Parallel()
	entries, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"t11-refused-write-replayed": "Worker 1 went on at 4.000 s after 3.990 s, was refused a1 under token 33 at 4.002 s, " +
			"was granted the lock again under token 35 at 4.012 s, and wrote a1 under token 35, a value decided under token 33: accepted as number 2.",
		"b90-queued-write-new-token": "Worker A was granted the lock again under token 3 at 3.000 s, and wrote q1 under token 3, a value decided under token 1: accepted at 3.001 s.",
	}
	for _, e := range entries {
		if text := want[e.Name]; text != "" {
			delete(want, e.Name)
			r := check(t, e.History)
			if got := story(r.Property(checker.LostUpdate).Witnesses[0]); !strings.Contains(got, text) {
				t.Errorf("%s:\n%s", e.Name, got)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not in the corpus: %v", want)
	}
}

// The read that is told last shows the late write, and nothing else.
func TestTheReadAfterwards(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rest string
		has  string
		op   int // of the last sentence; -1: not a read
	}{
		{"It shows the late write.", "40 3 read R -> ok value=a", "Worker 3 then read a; b is gone", 5},
		{"Somebody wrote the same again before it.", "35 3 write R a -> ok\n40 3 read R -> ok value=a", "b is gone", -1},
		{"The look-alike: the same was written before, and overwritten.", "10.5 3 write R a -> ok\n40 3 read R -> ok value=a", "Worker 3 then read a; b is gone", 6},
		{"It shows something else.", "35 3 write R c -> ok\n40 3 read R -> ok value=c", "b is gone", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split(`0 1 acquire L -> ok token=1
1 1 read R -> ok value=0
10 2 acquire L -> ok token=2
20 2 write R b -> ok
30 1 write R a -> ok
`+test.rest, "\n")
			if strings.HasPrefix(test.rest, "10.5") {
				lines = append(lines[:3:3], append([]string{lines[5]}, lines[3], lines[4], lines[6])...)
			}
			r := check(t, parse(t, "tokens: ordered\nguards: L -> R\ninitial: R = 0\n"+strings.Join(lines, "\n")+"\n"))
			told := r.Property(checker.LostUpdate).Witnesses[0].Story
			last := told[len(told)-1]
			if !strings.Contains(last.Text, test.has) || (test.op >= 0) != strings.Contains(last.Text, "then read") || test.op >= 0 && last.Op != test.op {
				t.Errorf("%+v", last)
			}
		})
	}
	r := check(t, parse(t, `
0 1 acquire L -> ok token=1
1 1 read R -> ok
10 2 acquire L -> ok token=2
20 2 write R x -> ok
30 1 write R x -> ok
40 3 read R -> ok value=x`))
	told := r.Property(checker.LostUpdate).Witnesses[0].Story
	if last := told[len(told)-1].Text; strings.Contains(last, "gone") || !strings.Contains(last, "overwritten unseen with the same value") {
		t.Error(last)
	}
}
