package exact_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/exact"
)

// stalled says what came of a history: "B 100-120" for each stall (in s), "doubt B 100-120",
// "went on" if somebody was judged to be in time, or "".
func stalled(p *exact.Progressed) string {
	var list []string
	span := func(s *exact.Stall) string { return fmt.Sprintf("%s %d-%d", s.Worker, s.From/1e9, s.To/1e9) }
	for i := range p.Stalls {
		list = append(list, span(&p.Stalls[i]))
	}
	switch {
	case len(list) > 0:
		return strings.Join(list, "; ")
	case p.Doubt != nil:
		return "doubt " + span(p.Doubt)
	case p.Checked > 0:
		return "went on"
	}
	return ""
}

// inSeconds lets the tables be written in seconds, in any order: the line
// "1..2 A acquire L ttl=3" becomes "1000..2000 A acquire L ttl=3000".
func inSeconds(text string) string {
	var head, lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] < '0' || line[0] > '9' {
			head = append(head, line)
			continue
		}
		lines = append(lines, line)
	}
	at := func(line string) int {
		n, _ := strconv.Atoi(line[:strings.IndexAny(line, ". ")])
		return n
	}
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(at(a), at(b)) })
	for i, line := range lines {
		lines[i] = numbers.ReplaceAllStringFunc(line, func(n string) string {
			if strings.HasSuffix(n, "0") && strings.Trim(n, "tl=.0") == "" {
				return n
			}
			return n + "000"
		})
	}
	return strings.Join(append(head, lines...), "\n")
}

var numbers = regexp.MustCompile(`^\d+|\.\.\d+|ttl=\d+`)

func TestProgress(t *testing.T) {
	t.Parallel()
	const (
		lease   = "tokens: none\n0 A acquire L ttl=10 -> ok\n"
		forever = "tokens: none\n0 A acquire L -> ok\n"
		waits   = "5.. B acquire L ttl=10 -> info\n"
		end     = "200 end"
	)
	tests := []struct{ name, hist, want string }{
		// How a holder ceases to be a live one.
		{"A lease runs out, and nobody is granted the lock: from then on two leases are too long.", lease + waits + end, "B 10-200"},
		{"In twenty seconds from the end of the lease it is in time.", lease + "5..30 B acquire L ttl=10 -> ok\n" + end, "went on"},
		{"A second later it is not.", lease + "5..31 B acquire L ttl=10 -> ok\n" + end, "B 10-31"},
		{"A holder that renews is alive.", lease + waits + "9 A renew L -> ok\n18 A renew L -> ok\n27 A renew L -> ok\n36 A renew L -> ok\n40 end", ""},
		{"Until it does no more.", lease + waits + "9 A renew L -> ok\n" + end, "B 19-200"},
		{"A longer lease by a renewal is a longer bound.", lease + waits + "9 A renew L ttl=70 -> ok\n" + end, ""},
		{"And a shorter one does not make it shorter.", lease + "9 A renew L ttl=1 -> ok\n9..29 B acquire L ttl=10 -> ok\n" + end, "went on"},
		{"The release counts from its invocation.", lease + waits + "6..7 A release L -> ok\n27 end", "B 6-27"},
		{"Whatever the answer is.", lease + waits + "6..7 A release L -> fail lost\n27 end", "B 6-27"},
		{"Or if there is none.", lease + waits + "6..7 A release L -> info\n27 end", "B 6-27"},
		{"Renewals after it do not make the worker a holder again.", lease + waits + "6 A release L -> ok\n8 A renew L -> ok\n16 A renew L -> ok\n24 A renew L -> ok\n27 end", "B 6-27"},
		{"Nor do they after the news that the lease is lost.", lease + waits + "6 A lost L\n8 A renew L -> ok\n16 A renew L -> ok\n24 A renew L -> ok\n27 end", "B 6-27"},
		{"held=false is such news.", lease + waits + "6 A check L -> ok held=false\n27 end", "B 6-27"},
		{"held=true is none.", lease + waits + "6 A check L -> ok held=true\n27 end", ""},
		{"A killed worker is no live holder.", forever + waits + "6 nemesis kill A\n" + end, "B 6-200"},
		{"A stopped one is, while its lease stands.", forever + waits + "6 nemesis pause A\n" + end, ""},
		{"And no longer.", lease + waits + "6 nemesis pause A\n" + end, "B 10-200"},
		{"One that may have been killed may live.", forever + waits + "6 nemesis kill A -> info\n" + end, ""},
		{"So does one that was killed before it was granted the lock.", "tokens: none\n1 nemesis kill A\n2 A acquire L -> ok\n" + waits + end, ""},
		{"The store was seen to end the lease.", forever + waits + "6 store expire L of A\n" + end, "B 6-200"},
		{"Or to revoke it.", forever + waits + "6 store revoke L of A\n" + end, "B 6-200"},
		{"Not that of another.", forever + waits + "6 store expire L of C\n" + end, ""},
		{"A renewal after that brings it back.", lease + waits + "6 store expire L of A\n7 A renew L ttl=100 -> ok\n100 end", ""},
		{"A lock without a ttl has a minute.", forever + "5..66 B acquire L -> ok\n6 A release L -> ok\n" + end, "went on"},
		{"And not a second more.", forever + "5..67 B acquire L -> ok\n6 A release L -> ok\n" + end, "B 6-67"},
		{"So has one that nobody was ever granted.", "tokens: none\n1..61 B acquire L ttl=2 -> ok\n" + end, "went on"},
		{"But no longer.", "tokens: none\n1.. B acquire L ttl=2 -> info\n62 end", "B 1-62"},
		{"A new grant is a new holder.", forever + "5 A release L -> ok\n6 A acquire L -> ok\n7.. B acquire L -> info\n" + end, ""},
		{"A release of an older grant leaves the newer one.", "tokens: none\n0 A acquire L ttl=10 -> ok\n20 C acquire L ttl=10 -> ok\n21 C release L -> ok\n40 A acquire L ttl=100 -> ok\n41 A release L grant=A.1 -> ok\n42.. B acquire L ttl=10 -> info\n135 end", ""},
		{"One of several holds given back, and none used again, is the end: who stacks holds by mistake looks like that.", forever + "1 A acquire L -> ok count=2\n" + waits + "6 A release L -> ok count=1\n" + end, "B 6-200"},
		{"If the worker goes on under the others it was not.", forever + "1 A acquire L -> ok count=2\n" + waits + "6 A release L -> ok count=1\n190 A write R v -> ok\n" + end, "doubt B 6-200"},
		{"Nor if it gives them back later.", forever + "1 A acquire L -> ok count=2\n" + waits + "6 A release L -> ok count=1\n190 A release L -> ok\n" + end, "doubt B 6-200"},
		{"But then the clock starts.", forever + "1 A acquire L -> ok count=2\n" + waits + "6 A release L -> ok count=1\n100 A release L -> ok\n" + end, "B 100-200"},

		// Who waits.
		{"Nobody waits.", lease + end, ""},
		{"Whoever was refused once waited as long as it asked.", lease + "20..50 B acquire L ttl=10 -> fail held\n" + end, "B 20-50"},
		{"And not after it.", lease + "20..21 B acquire L ttl=10 -> fail held\n" + end, ""},
		{"Refused twice, it waited between.", lease + "20..21 B acquire L ttl=10 -> fail held\n50 B acquire L ttl=10 -> fail held\n" + end, "B 20-50"},
		{"Whatever the refusals are called.", lease + "20 B acquire L ttl=10 -> fail\n50 B acquire L ttl=10 -> fail no-replicas\n" + end, "B 20-50"},
		{"Refused, then granted much later: nobody knows whether it asked in between.", lease + "20 B acquire L ttl=10 -> fail held\n100..101 B acquire L ttl=10 -> ok\n105 end", "went on"},
		{"Two workers that were refused once each did not wait.", lease + "20 B acquire L ttl=10 -> fail held\n80 C acquire L ttl=10 -> fail held\n" + end, ""},
		{"Only refusals without a live holder count.", lease + "5 B acquire L ttl=10 -> fail held\n9 A renew L ttl=60 -> ok\n68 B acquire L ttl=10 -> fail held\n80 B acquire L ttl=10 -> fail held\n" + end, ""},
		{"A grant between makes two vacancies.", lease + "20 B acquire L ttl=10 -> fail held\n30..31 C acquire L ttl=10 -> ok\n31 C release L -> ok\n45 B acquire L ttl=10 -> fail held\n46 end", "went on"},
		{"An acquire that was given up without an answer proves no waiting.", lease + "20..90 B acquire L ttl=10 -> info timeout\n91 B release L -> ok\n" + end, ""},
		{"One that is still open does.", lease + "20.. B acquire L ttl=10 -> info\n" + end, "B 20-200"},
		{"A former holder can wait like others.", lease + "5 A release L -> info\n6.. A acquire L ttl=10 -> info\n" + end, "A 6-200"},
		{"Another lock's waiters wait for another lock.", lease + "5.. B acquire M ttl=10 -> info\n50 end", ""},
		{"The history ends before the bound.", lease + waits + "30 end", ""},
		{"Without an end line it ends with the last thing seen.", lease + waits + "31 nemesis note B still waits", "B 10-31"},
		{"The one that waited longest is told.", lease + "20.. B acquire L ttl=10 -> info\n15.. C acquire L ttl=10 -> info\n" + end, "C 15-200"},
		{"Each vacancy is counted.", lease + "5..40 B acquire L ttl=10 -> ok\n41.. C acquire L ttl=10 -> info\n42 B release L -> ok\n" + end, "B 10-40; C 42-200"},

		// The waiter's own trouble.
		{"A stopped waiter does not wait.", lease + waits + "12 nemesis pause B\n" + end, ""},
		{"It did before.", lease + waits + "32 nemesis pause B\n" + end, "B 10-32"},
		{"Nor does it when it goes on in the same acquire.", lease + "5..150 B acquire L ttl=10 -> fail held\n12 nemesis pause B\n13 nemesis resume B\n" + end, ""},
		{"A killed one does not wait.", lease + waits + "12 nemesis kill B\n" + end, ""},
		{"Nor one that is cut off.", lease + waits + "12 nemesis partition B|store\n" + end, ""},
		{"It does after that was healed.", lease + "12 nemesis partition B|store\n15 nemesis heal B|store\n16.. B acquire L ttl=10 -> info\n" + end, "B 16-200"},
		{"Between two refusals it must not have been in trouble.", lease + "20 B acquire L ttl=10 -> fail held\n25 nemesis pause B\n45 nemesis resume B\n50 B acquire L ttl=10 -> fail held\n55 end", ""},
		{"That of another is none of its own.", lease + "1 C acquire M ttl=10 -> ok\n" + waits + "12 nemesis pause C\n14 nemesis partition C|store\n" + end, "B 10-200"},

		// Somebody may have it.
		{"An acquire without an answer may have been granted.", lease + "5 C acquire L ttl=10 -> info timeout\n" + waits + end, "doubt B 10-200"},
		{"Until its worker gives it back, whatever the answer.", lease + "5..6 C acquire L ttl=10 -> info timeout\n" + waits + "7..100 C release L -> fail lost\n" + end, "B 100-200"},
		{"Or is killed.", lease + "5..6 C acquire L ttl=10 -> info timeout\n" + waits + "100 nemesis kill C\n" + end, "B 100-200"},
		{"A refused one was not granted.", lease + "5..6 C acquire L ttl=10 -> fail held\n" + waits + end, "B 10-200"},
		{"A worker that is stopped while it asks may be granted the lock.", lease + "5..150 C acquire L ttl=10 -> ok\n" + waits + "12 nemesis pause C\n149 nemesis resume C\n151 C release L -> ok\n152 end", "doubt B 10-150"},
		{"Also if it never goes on.", lease + "5.. C acquire L ttl=10 -> info\n6.. B acquire L ttl=10 -> info\n12 nemesis pause C\n" + end, "doubt B 10-200"},
		{"If it is refused in the end it was not.", lease + "5..150 C acquire L ttl=10 -> fail held\n" + waits + "12 nemesis pause C\n149 nemesis resume C\n" + end, "B 10-200"},
		{"Killed while it asks, it has nothing from then on.", lease + "5.. C acquire L ttl=10 -> info\n6.. B acquire L ttl=10 -> info\n12 nemesis kill C\n" + end, "B 10-200"},
		{"A renewal without an answer may have made the lease longer, by one ttl.", lease + waits + "9 A renew L -> info timeout\n40 end", "doubt B 10-40"},
		{"But no more.", lease + waits + "9 A renew L -> info timeout\n41 end", "B 20-41"},
		{"A lease may count from the answer.", "tokens: none\n0..5 A acquire L ttl=10 -> ok\n6.. B acquire L ttl=10 -> info\n31 end", "doubt B 10-31"},
		{"But not from later.", "tokens: none\n0..5 A acquire L ttl=10 -> ok\n6.. B acquire L ttl=10 -> info\n36 end", "B 15-36"},
		{"A release that finds the lease alive, and no renewal on record: some may be missing.", lease + "5..102 B acquire L ttl=10 -> ok\n100..101 A release L -> ok\n102 end", "doubt B 10-102"},
		{"A refused release found none.", lease + "5..102 B acquire L ttl=10 -> ok\n100..101 A release L -> fail lost\n102 end", "B 10-102"},
		{"Where renewals are on record the last of them was the last.", lease + "5..102 B acquire L ttl=10 -> ok\n9 A renew L -> ok\n100..101 A release L -> ok\n102 end", "B 19-102"},
		{"A stopped worker renews nothing.", lease + "5..102 B acquire L ttl=10 -> ok\n6 nemesis pause A\n90 nemesis resume A\n100..101 A release L -> ok\n102 end", "B 16-90"},
		{"The release of a worker that is cut off may not have left it.", forever + "1 nemesis partition A|store\n2..3 A release L -> info timeout\n" + waits + end, "doubt B 5-200"},
		{"Until that is healed.", forever + "1 nemesis partition A|store\n2..3 A release L -> info timeout\n" + waits + "100 nemesis heal A|store\n" + end, "B 100-200"},
		{"An ok release did leave it.", forever + "1 nemesis partition A|store\n2..3 A release L -> ok\n" + waits + end, "B 5-200"},
		{"So may one of a stopped worker.", forever + "2..150 A release L -> ok\n3 nemesis pause A\n" + waits + "149 nemesis resume A\n" + end, "doubt B 5-200"},

		// The store's trouble.
		{"While the store is broken nobody need be granted anything.", lease + waits + "11 nemesis partition n1|n2\n" + end, ""},
		{"Afterwards the clock starts again.", lease + waits + "11 nemesis partition n1|n2\n175 nemesis heal n1|n2\n195 end", ""},
		{"And runs.", lease + waits + "11 nemesis partition n1|n2\n175 nemesis heal n1|n2\n196 end", "B 175-196"},
		{"Also with words of one's own.", lease + waits + "11 nemesis stall store\n175 nemesis heal store\n195 end", ""},
		{"A word that names nothing is healed by any.", lease + waits + "11 nemesis stop-replicas\n175 nemesis heal replicas\n195 end", ""},
		{"A heal without a fault may end one that was there all the time.", lease + waits + "175 nemesis heal replicas\n195 end", ""},
		{"A restart is over when it is done.", lease + waits + "25 nemesis restart n1\n45 end", ""},
		{"A word of one's own without an end is, too.", lease + waits + "25 nemesis lose-power n1\n46 end", "B 25-46"},
		{"A killed node may be missed for ever.", lease + waits + "25 nemesis kill n1\n" + end, ""},
		{"A note breaks nothing.", lease + waits + "25 nemesis note n1 is slow\n31 end", "B 10-31"},
		{"What the store is seen to do breaks nothing.", lease + waits + "25 store keeps the entry\n31 end", "B 10-31"},
		{"A partition of the holder is the holder's.", lease + waits + "2 nemesis partition A|store\n" + end, "B 10-200"},
		{"A fault that may have been healed may not have been.", lease + waits + "11 nemesis partition n1|n2\n12 nemesis heal n1|n2 -> info\n" + end, ""},
		{"One that certainly failed was none.", lease + waits + "11 nemesis partition n1|n2 -> fail\n" + end, "B 10-200"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := book(t, inSeconds(test.hist))
			got := exact.Progress(exact.NewLedger(b))
			if stalled(&got) != test.want {
				t.Errorf("%q, want %q", stalled(&got), test.want)
			}
			word := exact.NewPlain(b).Progress()
			if word.Invalid != (len(got.Stalls) > 0) || !word.Invalid && word.Uncertain != (got.Doubt != nil) {
				t.Errorf("the rule moment by moment says %+v", word)
			}
		})
	}
}

func TestProgressMargin(t *testing.T) {
	t.Parallel()
	got := exact.Progress(exact.NewLedger(book(t, inSeconds(`tokens: none
0 A acquire L ttl=10 -> ok
5..13 B acquire L ttl=10 -> ok
14..29 C acquire L ttl=10 -> ok`))))
	if m, known := got.Margin.Get(); !known || m != 14e9 || got.Checked != 2 {
		t.Errorf("margin %d, %v, %d checked", m, known, got.Checked)
	}
}

func TestStallIsWhatItSays(t *testing.T) {
	t.Parallel()
	b := book(t, inSeconds(`tokens: none
0      A acquire L ttl=10 -> ok
3      A release L        -> info
4      B acquire L ttl=10 -> fail held
20     B acquire L ttl=10 -> fail held
30     B acquire L ttl=10 -> fail held
31..50 C acquire L ttl=10 -> ok
51     C release L        -> ok`))
	got := exact.Progress(exact.NewLedger(b))
	if len(got.Stalls) != 1 {
		t.Fatalf("%+v", got)
	}
	s := got.Stalls[0]
	if s.Worker != "B" || s.First != 2 || s.Final != 4 || s.Refused != 3 || s.Bound != 20e9 || s.Last.ID != "A.1" ||
		s.Parted != 1 || s.Left != 1 || s.Leaver != s.Last || s.Next == nil || s.Next.ID != "C.1" {
		t.Errorf("%+v", s)
	}
}

func TestDoubtSaysWhy(t *testing.T) {
	t.Parallel()
	got := exact.Progress(exact.NewLedger(book(t, inSeconds(`tokens: none
0   A acquire L ttl=10 -> ok
5   C acquire L ttl=10 -> info timeout
6.. B acquire L ttl=10 -> info
99  end`))))
	if got.Doubt == nil || got.Doubt.Why != `an acquire of worker "C" has no answer` {
		t.Errorf("%+v", got.Doubt)
	}
}
