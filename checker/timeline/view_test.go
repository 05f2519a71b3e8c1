package timeline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/timeline"
	"github.com/leasehold-checker/leasehold/histories"
)

// leases reads a history in the text notation and returns its lease bars.
func leases(t *testing.T, hist string) []timeline.Lease {
	t.Helper()
	h, err := histories.ParseText(strings.NewReader(hist), "test.hist")
	if err != nil {
		t.Fatal(err)
	}
	return timeline.Build(h, checker.Result{Verdict: checker.Unknown}).Picture.Leases
}

func TestLeases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, hist string
		want       []timeline.Lease
	}{
		{
			// Released in time: belief ends when the release is asked for, the hold when it is answered.
			"released", "0..5 1 acquire L ttl=2000 -> ok token=7\n1000..1010 1 release L -> ok\n3000 end\n",
			[]timeline.Lease{{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 1000 * ms, Sure: 1010 * ms, Gone: 1010 * ms, Ended: "released"}},
		}, {
			// Seen to expire: from then on the belief is untrue.
			"expired", "0..5 1 acquire L ttl=2000 -> ok token=7\n2200 store expire L of 1\n3000 1 read R -> ok value=x\n",
			[]timeline.Lease{{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 3000 * ms, Sure: 2200 * ms, Gone: 2200 * ms, Ended: "expired"}},
		}, {
			// The legal look-alike: the promise is over, but no end was seen. Nothing is called untrue.
			"promise over", "0..5 1 acquire L ttl=2000 -> ok token=7\n3000 1 read R -> ok value=x\n",
			[]timeline.Lease{{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 3000 * ms, Sure: 2000 * ms, Gone: 3000 * ms}},
		}, {
			// A successor was granted after the promise: the old lease had ended by then, whoever saw it.
			"successor", "0..5 1 acquire L ttl=2000 -> ok token=7\n2300..2310 2 acquire L ttl=2000 -> ok token=8\n3000 1 read R -> ok value=x\n",
			[]timeline.Lease{
				{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 3000 * ms, Sure: 2000 * ms, Gone: 2310 * ms, Ended: "successor"},
				{Op: 1, Lock: "L", Process: "2", Grant: "2.1", Token: "8", Begin: 2310 * ms, Believes: 3000 * ms, Sure: 3000 * ms, Gone: 3000 * ms},
			},
		}, {
			// Granted while the promise stands: both hold, and the picture shows two holders.
			"two holders", "0..5 1 acquire L ttl=2000 -> ok token=7\n900..1000 2 acquire L ttl=2000 -> ok token=8\n1500 1 read R -> ok value=x\n",
			[]timeline.Lease{
				{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 1500 * ms, Sure: 1500 * ms, Gone: 1500 * ms},
				{Op: 1, Lock: "L", Process: "2", Grant: "2.1", Token: "8", Begin: 1000 * ms, Believes: 1500 * ms, Sure: 1500 * ms, Gone: 1500 * ms},
			},
		}, {
			// Renewed, also while it waited: the promise moves on.
			"renewed", "0..5 1 acquire L ttl=1000 -> ok token=7\n10..1500 2 acquire L ttl=1000 -> ok token=8\n800 1 renew L -> ok\n1000 2 renew L -> ok\n1400..1450 1 release L -> ok\n1900 2 read R -> ok value=x\n",
			[]timeline.Lease{
				{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 1400 * ms, Sure: 1450 * ms, Gone: 1450 * ms, Ended: "released"},
				{Op: 1, Lock: "L", Process: "2", Grant: "2.1", Token: "8", Begin: 1500 * ms, Believes: 1900 * ms, Sure: 1900 * ms, Gone: 1900 * ms},
			},
		}, {
			// A dead grant: it ended before its answer, and is untrue from the first moment.
			"dead grant", "0..3000 1 acquire L ttl=1000 -> ok token=7\n2000 store expire L of 1\n3500 1 read R -> ok value=x\n",
			[]timeline.Lease{{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 3000 * ms, Believes: 3500 * ms, Sure: 3000 * ms, Gone: 3000 * ms, Ended: "expired"}},
		}, {
			// Told: by a check that says no, by lost, by being killed.
			"told", "0..5 1 acquire L -> ok token=7\n10..15 2 acquire K -> ok token=1\n20..25 3 acquire M -> ok token=1\n900..1000 1 check L -> ok held=false\n1100 2 lost K\n1200 nemesis kill 3\n2000 end\n",
			[]timeline.Lease{
				{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 1000 * ms, Sure: 2000 * ms, Gone: 2000 * ms},
				{Op: 1, Lock: "K", Process: "2", Grant: "2.1", Token: "1", Begin: 15 * ms, Believes: 1100 * ms, Sure: 2000 * ms, Gone: 2000 * ms},
				{Op: 2, Lock: "M", Process: "3", Grant: "3.1", Token: "1", Begin: 25 * ms, Believes: 1200 * ms, Sure: 2000 * ms, Gone: 2000 * ms},
			},
		}, {
			// A release without an answer: it may still hold.
			"release unknown", "0..5 1 acquire L ttl=5000 -> ok token=7\n1000.. 1 release L -> info\n3000 end\n",
			[]timeline.Lease{{Op: 0, Lock: "L", Process: "1", Grant: "1.1", Token: "7", Begin: 5 * ms, Believes: 1000 * ms, Sure: 1000 * ms, Gone: 3000 * ms}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, leases(t, c.hist)); diff != "" {
				t.Errorf("leases (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneTrial(t *testing.T) {
	t.Parallel()
	h, r := oneTrial(histories.FenceOff)
	v := timeline.Build(h, r)
	want := timeline.Banner{Word: "VIOLATION", Class: "violation", Text: "a stale write was accepted, and an update was lost",
		Facts: []string{"etcd-mutex/register/check/off/pause-checked", "fence off", "seed 7", "etcd 3.7.3", "leasehold 0.1"}}
	if diff := cmp.Diff(want, v.Banner); diff != "" {
		t.Errorf("banner (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]timeline.Pause{{Op: 4, Process: "1", Begin: 500 * ms, End: 4000 * ms, Point: "checked", Seen: true}}, v.Picture.Pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	late := timeline.Op{N: 8, Process: "1", F: "write", Type: "ok", Begin: 4002 * ms, End: 4004 * ms, At: 4004 * ms, Mark: timeline.MarkStale,
		Label: "write a1", Lock: "L", Resource: "R", Token: "33", Seq: "3", Value: "a1", Over: "b1"}
	if diff := cmp.Diff(late, v.Picture.Ops[8]); diff != "" {
		t.Errorf("late write (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(timeline.Focus{Lock: "L", Begin: 0, End: 4004 * ms}, v.Picture.Focus); diff != "" {
		t.Errorf("focus (-want +got):\n%s", diff)
	}
	lanes := []string{}
	for _, s := range v.Stories[0].Sentences {
		lanes = append(lanes, s.Lane+":"+s.Name)
	}
	if diff := cmp.Diff([]string{"worker:1", "store:", "store:", "resource:R", "resource:R"}, lanes); diff != "" {
		t.Errorf("lanes of the numbers (-want +got):\n%s", diff)
	}
}

// The fenced look-alike of the same trial accuses nobody, and tells what happened.
func TestFencedTrial(t *testing.T) {
	t.Parallel()
	h, r := oneTrial(histories.FenceAll)
	v := timeline.Build(h, r)
	if v.Banner.Word != "CLEAN" || v.Banner.Class != "clean" {
		t.Errorf("banner = %+v, want CLEAN", v.Banner)
	}
	if got := v.Picture.Ops[8].Mark; got != timeline.MarkRefused {
		t.Errorf("late write is drawn as %q, want %q", got, timeline.MarkRefused)
	}
	if len(v.Stories) != 1 || v.Stories[0].Violation || v.Stories[0].Title != "the resource refused the stale write" {
		t.Errorf("stories = %+v, want the trial", v.Stories)
	}
}

func TestBanner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		result checker.Result
		want   string
	}{
		{"nothing put it to the test: no green", checker.Result{Verdict: checker.Valid}, "CLEAN inconclusive"},
		{"undecided", checker.Result{Verdict: checker.Unknown, Why: "time ran out"}, "INCONCLUSIVE inconclusive"},
		{"without a witness", checker.Result{Verdict: checker.Invalid}, "VIOLATION violation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := timeline.Build(&histories.History{}, c.result).Banner
			if got := b.Word + " " + b.Class; got != c.want {
				t.Errorf("banner = %q, want %q", got, c.want)
			}
		})
	}
}

// The banner says what went wrong, whatever property it is.
func TestBannerNamesTheGrants(t *testing.T) {
	t.Parallel()
	r := checker.Result{Verdict: checker.Invalid, Properties: []checker.PropertyResult{
		{Property: checker.Exclusion, Verdict: checker.Invalid, Role: checker.Gate}, {Property: checker.TokenOrder, Verdict: checker.Invalid, Role: checker.Gate}}}
	want := "the lock was promised to two workers at once, and the tokens do not grow"
	if got := timeline.Build(&histories.History{}, r).Banner.Text; got != want {
		t.Errorf("banner = %q, want %q", got, want)
	}
}

// A write that was invoked before the pause and sent after it stands where the
// resource took it, behind the successor's.
func TestCommitOrder(t *testing.T) {
	t.Parallel()
	h, err := histories.ParseText(strings.NewReader(`0..2 1 acquire L ttl=1000 -> ok token=1
500..4000 1 write R a token=1 -> ok seq=2
2000..2002 2 acquire L ttl=1000 -> ok token=2
2010..2012 2 write R b token=2 -> ok seq=1
`), "test.hist")
	if err != nil {
		t.Fatal(err)
	}
	ops := timeline.Build(h, checker.Result{}).Picture.Ops
	if ops[1].At != 4000*ms || ops[3].At != 2012*ms {
		t.Errorf("marks stand at %d and %d, want 4000 ms and 2012 ms", ops[1].At, ops[3].At)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	h, r := campaign(10, 4, 150)
	v := timeline.Build(h, r)
	if len(v.Picture.Ops) != timeline.MaxOps || v.Picture.Total != len(h.Ops) {
		t.Errorf("%d of %d operations, want %d", len(v.Picture.Ops), v.Picture.Total, timeline.MaxOps)
	}
	held := map[int]bool{}
	for _, op := range v.Picture.Ops {
		held[op.N] = true
	}
	for _, s := range v.Stories {
		for _, i := range s.Ops {
			if !held[i] {
				t.Fatalf("operation %d, of a story, is not in the page", i)
			}
		}
	}
	// Places that do not exist are left out, not looked up.
	r.Properties[0].Witnesses[0].Ops = []int{-5, 1 << 40}
	r.Properties[0].Witnesses[0].Stale = 1 << 40
	r.Coverage.Trials = []checker.Trial{{Pause: -9, Resume: 1 << 40, Write: 1 << 40, Accepted: 1}}
	timeline.Build(h, r)
}
