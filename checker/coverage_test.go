package checker_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
)

// edit replaces lines of the demo, each by a line with the same beginning.
func edit(t testing.TB, pairs ...string) string {
	t.Helper()
	text := demo
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the demo has no %q", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// Each judgement about a trial, with a look-alike.
func TestTrial(t *testing.T) {
	t.Parallel()
	const (
		stale   = "4001..4003 1 write R1 a1 token=33   -> ok seq=2"
		touch   = "2620..2622 2 write R1 b1 token=34   -> ok seq=1"
		acquire = "1000..2610 2 acquire L1 ttl=2000    -> ok token=34"
		point   = "point=checked"
		after   = "4010..4011 1 read R1 token=33       -> ok value=a1 seq=2"
	)
	tests := []struct {
		name  string
		edits []string
		takeover, conclusive,
		lost bool
		attempted, accepted, refused int
		why                          string // contains
	}{
		{"The demo is conclusive.", nil, true, true, false, 1, 1, 0, ""},
		{"A refused write is as conclusive as an accepted one.", []string{stale, "4001..4003 1 write R1 a1 token=33   -> fail fenced seq=1", after, ""},
			true, true, false, 1, 0, 1, ""},
		{"A write that failed for another reason reached nothing.", []string{stale, "4001..4003 1 write R1 a1 token=33   -> fail broken", after, ""},
			true, false, false, 0, 0, 0, "wrote nothing afterwards"},
		{"An unanswered write proves nothing.", []string{stale, "4001..4003 1 write R1 a1 token=33   -> info timeout", after, ""},
			true, false, false, 0, 0, 0, "wrote nothing afterwards"},
		{"By its number the write came before the successor's touch.",
			[]string{stale, strings.Replace(stale, "seq=2", "seq=1", 1), touch, strings.Replace(touch, "seq=1", "seq=2", 1), after, ""},
			true, false, true, 0, 0, 0, "certainly came after"},
		{"Without numbers, real time says so.", []string{stale, strings.Replace(stale, " seq=2", "", 1), touch, strings.Replace(touch, " seq=1", "", 1)},
			true, true, false, 1, 1, 0, ""},
		{"Without numbers, an overlap says nothing.", []string{stale, strings.Replace(stale, " seq=2", "", 1), touch, "", after,
			"4002..4011 2 write R1 b1 token=34 -> ok"},
			true, false, false, 0, 0, 0, "certainly came after"},
		{"Touching times say nothing, either.", []string{stale, "", touch, strings.Replace(touch, " seq=1", "", 1), after, "",
			"4000       nemesis resume 1\n", "", "2620..2622 2 write R1 b1 token=34   -> ok", "2613       nemesis resume 1\n2620..2622 2 write R1 b1 token=34 -> ok\n2622..2623 1 write R1 a1 token=33 -> ok"},
			true, false, false, 0, 0, 0, "certainly came after"},
		{"A touch after the worker was told to go on was not meanwhile.", []string{touch + "\n", "", stale, "4000.5..4002 2 write R1 b1 token=34 -> ok seq=1\n4003..4004 1 write R1 a1 token=33 -> ok seq=2"},
			true, false, false, 1, 1, 0, "only after the worker was told to go on"},
		{"Nor was one that was answered only then.", []string{touch, "2620..4000 2 write R1 b1 token=34   -> ok seq=1"},
			true, false, false, 1, 1, 0, "only after the worker was told to go on"},
		{"The look-alike: it was answered just before.", []string{touch, "2620..3999.999 2 write R1 b1 token=34   -> ok seq=1"},
			true, true, false, 1, 1, 0, ""},
		{"A resume that nobody confirmed is the end of what is certain.", []string{"4000       nemesis resume 1", "2621       nemesis resume 1 -> info"},
			true, false, false, 1, 1, 0, "only after the worker was told to go on"},
		{"At the point sent the write is a control.", []string{point, "point=sent"}, true, false, false, 1, 1, 0, "point sent"},
		{"Nobody took over.", []string{acquire + "\n", "", touch + "\n", "", "2611..2612 2 read R1 token=34       -> ok value=a0 seq=0\n", ""},
			false, false, false, 0, 0, 0, "nobody else"},
		{"Who was granted after the continuation took over nothing.", []string{acquire, strings.Replace(acquire, "2610", "4500", 1),
			"2611..2612 2 read R1 token=34       -> ok value=a0 seq=0\n", "", touch + "\n", ""},
			false, false, false, 0, 0, 0, "nobody else"},
		{"With fence off a read is no touch.", []string{touch + "\n", ""}, true, false, false, 0, 0, 0, "did nothing that the fence counts"},
		{"With fence all it is.", []string{touch + "\n", "", "fence: off", "fence: all"}, true, true, false, 1, 1, 0, ""},
		{"The write was answered before the stop: it is not of this trial.", []string{stale + "\n", "", after + "\n", "",
			"490..491   1 check L1               -> ok held=true", "480..481   1 write R1 a1 token=33   -> ok seq=2"},
			true, false, false, 0, 0, 0, "wrote nothing afterwards"},
		{"A worker that had released held nothing.", []string{"490..491   1 check L1               -> ok held=true", "490..491   1 release L1 -> ok"},
			true, false, false, 0, 0, 0, "held no lease"},
		{"A failed release counts as one invoked, too.", []string{"490..491   1 check L1               -> ok held=true", "490..491   1 release L1 -> fail"},
			true, false, false, 0, 0, 0, "held no lease"},
		{"A pause that nobody confirmed is no trial.", []string{"499..500   nemesis pause 1 point=checked", "499..500   nemesis pause 1 point=checked -> info"},
			false, false, false, 0, 0, 0, ""},
		{"The old write between the successor's read and its write puts lost-update to the test.", []string{touch + "\n", "", after, "4010..4011 2 write R1 b1 token=34 -> ok seq=3"},
			true, false, true, 0, 0, 0, "certainly came after"},
		{"If the successor had not read, it does not.", []string{touch + "\n", "", "2611..2612 2 read R1 token=34       -> ok value=a0 seq=0\n", "", after, "4010..4011 2 write R1 b1 token=34 -> ok seq=3"},
			true, false, false, 0, 0, 0, "certainly came after"},
		{"If the old holder had not read, it does not.", []string{touch + "\n", "", "3..4       1 read R1 token=33       -> ok value=a0 seq=0\n", "", after, "4010..4011 2 write R1 b1 token=34 -> ok seq=3"},
			true, false, false, 0, 0, 0, "certainly came after"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := check(t, parse(t, edit(t, test.edits...))).Coverage
			if len(c.Trials) == 0 {
				if c.Pauses != 0 || test.takeover {
					t.Fatalf("no trial: %+v", c)
				}
				return
			}
			got := c.Trials[0]
			if got.Takeover != test.takeover || got.Conclusive != test.conclusive || got.ConclusiveLost != test.lost {
				t.Errorf("%+v", got)
			}
			if got.Attempted != test.attempted || got.Accepted != test.accepted || got.Refused != test.refused {
				t.Errorf("%+v", got)
			}
			if (got.Why == "") != test.conclusive || !strings.Contains(got.Why, test.why) {
				t.Errorf("why: %q", got.Why)
			}
			if (got.Write >= 0) != (test.attempted > 0) {
				t.Errorf("write %d", got.Write)
			}
		})
	}
}

// A worker stopped before it learned of its grant (point locked): the grant is the
// one whose acquire was open.
func TestTrialAtLocked(t *testing.T) {
	t.Parallel()
	h := parse(t, `
fence: off
0..5001    1 acquire L ttl=2000 -> ok token=33
10         nemesis pause 1 point=locked
2600..2610 2 acquire L ttl=2000 -> ok token=34
2620..2622 2 write R b token=34 -> ok seq=1
5000       nemesis resume 1
5002..5003 1 write R a token=33 -> ok seq=2`)
	c := check(t, h).Coverage
	if got := c.Trials[0]; !got.Conclusive || got.Grant != "1.1" || got.Successor != "2.1" || got.Write != 5 || got.Resume != 4 {
		t.Errorf("%+v", got)
	}
	// The look-alike: a contender that was stopped while it waited gets a newer grant.
	h = parse(t, `
fence: off
0..5001    1 acquire L ttl=2000 -> ok token=35
10         nemesis pause 1
2600..2610 2 acquire L ttl=2000 -> ok token=34
2620..2622 2 write R b token=34 -> ok seq=1
5000       nemesis resume 1
5002..5003 1 write R a token=35 -> ok seq=2`)
	if got := check(t, h).Coverage.Trials[0]; got.Conclusive || !got.Takeover || got.Attempted != 0 {
		t.Errorf("%+v", got)
	}
}

// A worker that never goes on.
func TestTrialWithoutEnd(t *testing.T) {
	t.Parallel()
	h := parse(t, `
0..1     1 acquire L ttl=10 -> ok token=1
5        nemesis pause 1
20..21   2 acquire L ttl=10 -> ok token=2
22       2 write R x -> ok
90       end`)
	c := check(t, h).Coverage
	got := c.Trials[0]
	if got.Resume != -1 || got.ContinuedNS != 90_000_000 || !got.Takeover || got.Conclusive || got.Why != "the worker was never continued" {
		t.Errorf("%+v", got)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	h := parse(t, `
fence: writes
guards: L -> R
0..1   A acquire L ttl=100 -> ok token=1
2..3   A read R -> ok
4      nemesis pause A
50     store expire L of A
51     store revoke L of A
60..61 B acquire L -> ok token=2
62..63 B write R b token=2 -> ok
70     nemesis resume A
71..72 A write R a token=1 -> fail fenced
73..74 A write R a token=1 -> info timeout
75..76 A write R a token=1 -> fail broken
80     nemesis partition n1
81     C check K -> ok held=false`)
	c := check(t, h).Coverage
	want := map[histories.F]int{histories.Acquire: 2, histories.Read: 1, histories.Write: 1, histories.Check: 1}
	if !maps.Equal(c.Operations, want) {
		t.Errorf("operations %v", c.Operations)
	}
	if !maps.Equal(c.Faults, map[histories.F]int{histories.Pause: 1, histories.Resume: 1, histories.Partition: 1}) {
		t.Errorf("faults %v", c.Faults)
	}
	got := []int{c.Refused, c.Unknown, c.Workers, c.Locks, c.Grants, c.Expiries, c.Pauses, c.StaleAttempted, c.StaleAccepted, c.StaleRefused}
	for i, n := range []int{1, 1, 3, 1, 2, 1, 1, 1, 0, 1} {
		if got[i] != n {
			t.Errorf("count %d is %d, want %d", i, got[i], n)
		}
	}
}

// A refusal is a stale attempt only if a newer grant had touched the resource.
func TestStaleAttempts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		hist     string
		accepted int
		refused  int
	}{
		{"Without a pause, too.", "62 B write R b -> ok\n71 A write R a -> ok", 1, 0},
		{"A refusal at the state that the newer write made.", "62 B write R b -> ok seq=7\n71 A write R a -> fail fenced seq=7", 0, 1},
		{"A refusal before the newer grant touched the resource.", "62 A write R a -> fail fenced\n71 B write R b -> ok", 0, 0},
		{"A refusal that overlaps the touch.", "62..70 B write R b -> ok\n70..71 A write R a -> fail fenced", 0, 0},
		{"The newer grant itself was refused.", "62 A write R a -> ok\n71 B write R b -> fail fenced", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := check(t, parse(t, "fence: writes\n0 A acquire L -> ok token=1\n60 B acquire L -> ok token=2\n"+test.hist+"\n")).Coverage
			if c.StaleAccepted != test.accepted || c.StaleRefused != test.refused {
				t.Errorf("accepted %d, refused %d", c.StaleAccepted, c.StaleRefused)
			}
		})
	}
}

// Exposure: after the successor was granted, before it touched the resource.
func TestExposure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		hist  string
		count int
		ns    int64
	}{
		{"The old holder writes before the successor touches the resource.", "70 A write R a -> ok\n80 B write R b -> ok", 1, 9_000_000},
		{"Afterwards it is a stale write.", "70 B write R b -> ok\n80 A write R a -> ok", 0, 0},
		{"A write sent before the successor had its answer is none.", "61..65 A write R a -> ok\n80 B write R b -> ok", 0, 0},
		{"A refused write is none.", "70 A write R a -> fail fenced\n80 B write R b -> ok", 0, 0},
		{"The successor's own writes are none.", "70 B write R a -> ok\n80 B write R b -> ok", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, "fence: writes\n0 A acquire L -> ok token=1\n60..61 B acquire L -> ok token=2\n"+test.hist+"\n"))
			if c := r.Coverage; c.Exposures != test.count || c.ExposureMaxNS != test.ns {
				t.Errorf("%d exposures, longest %d ns", c.Exposures, c.ExposureMaxNS)
			}
			if stale := r.Property(checker.StaleWrite).Verdict == checker.Invalid; stale && test.count > 0 {
				t.Error("an exposure is nobody's violation")
			}
		})
	}
}

// A worker overwrites what it has not seen, in a trial: either the old holder what the
// successor wrote, or the successor, which had read before, what the old holder wrote.
func TestTrialLosesUpdates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rest string // from the continuation on
		lost int
	}{
		{"The successor had read, and overwrites the old holder's write unseen.",
			"41 1 write R a token=1 -> ok\n50 2 write R b token=2 -> ok", 1},
		{"The look-alike: the fence refused the old holder.",
			"41 1 write R a token=1 -> fail fenced\n50 2 write R b token=2 -> ok", 0},
		{"The successor reads again before it writes.",
			"41 1 write R a token=1 -> ok\n45 2 read R token=2 -> ok value=a\n50 2 write R b token=2 -> ok", 0},
		{"The old holder overwrites the successor's write unseen.",
			"35 2 write R b token=2 -> ok\n41 1 write R a token=1 -> ok", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split("40 nemesis resume 1\n"+test.rest, "\n")
			if strings.HasPrefix(lines[1], "35") {
				lines[0], lines[1] = lines[1], lines[0]
			}
			c := check(t, parse(t, `fence: all
initial: R = 0
0 1 acquire L ttl=10 -> ok token=1
1 1 read R token=1 -> ok value=0
5 nemesis pause 1
20 2 acquire L ttl=10 -> ok token=2
30 2 read R token=2 -> ok value=0
`+strings.Join(lines, "\n")+"\n")).Coverage
			if len(c.Trials) != 1 || c.Trials[0].LostUpdates != test.lost || c.LostUpdates != test.lost {
				t.Errorf("%d lost, trials %+v", c.LostUpdates, c.Trials)
			}
		})
	}
}

// Where the resource's numbers contradict real time, numbers alone decide: the verdict,
// the counts, and the trials.
func TestCoverageByNumbersAlone(t *testing.T) {
	t.Parallel()
	const begin = `fence: writes
initial: R = 0
0 1 acquire L ttl=10 -> ok token=1
5 nemesis pause 1
20 2 acquire L ttl=10 -> ok token=2
21 2 write R b token=2 -> ok
40 nemesis resume 1
41 1 write R a token=1 -> ok
`
	for name, test := range map[string]struct {
		rest    string
		verdict checker.Verdict
		stale   int
	}{
		"real time": {"50 2 write R c token=2 -> ok seq=2\n60 2 write R d token=2 -> ok seq=3", checker.Invalid, 1},
		"no order":  {"50 2 write R c token=2 -> ok seq=3\n60 2 write R d token=2 -> ok\n70 2 write R e token=2 -> ok seq=2", checker.Valid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := check(t, parse(t, begin+test.rest+"\n"))
			if v := r.Property(checker.StaleWrite).Verdict; v != test.verdict {
				t.Errorf("stale-write %s", v)
			}
			c := r.Coverage
			if c.StaleAccepted != test.stale || c.Trials[0].Accepted != test.stale || c.Trials[0].Conclusive != (test.stale > 0) || c.Exposures != 1-test.stale {
				t.Errorf("%+v", c)
			}
		})
	}
}
