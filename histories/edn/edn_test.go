package edn_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/edn"
)

// shapes says for inputs, an operation a line, what they become: the lines of the
// text notation without its header, or what is wrong.
var shapes = []struct{ why, in, want string }{
	{"acquire and release without a value are those of the one lock", `
{:type :invoke, :process 0, :f :acquire, :value nil, :time 1000000}
{:type :ok, :process 0, :f :acquire, :value nil, :time 2000000}
{:type :invoke, :process 0, :f :release, :time 3000000}
{:type :fail, :process 0, :f :release, :time 4000000, :error :not-held}`, `
1..2 0 acquire L -> ok
3..4 0 release L -> fail not-held`},
	{"a process that gets no answer is retired, and may lose all that it holds", `
{:type :invoke, :process 0, :f :acquire, :value [:a nil], :time 0}
{:type :ok, :process 0, :f :acquire, :value [:a nil], :time 1000000}
{:type :invoke, :process 0, :f :acquire, :value [:b nil], :time 2000000}
{:type :ok, :process 0, :f :acquire, :value [:b nil], :time 3000000}
{:type :invoke, :process 0, :f :release, :value [:a nil], :time 4000000}
{:type :info, :process 0, :f :release, :value [:a nil], :time 5000000, :error "gone"}
{:type :invoke, :process 5, :f :acquire, :value [:b nil], :time 6000000}`, `
0..1 0 acquire :a -> ok
2..3 0 acquire :b -> ok
4..5 0 release :a -> info gone
5 0 release :a -> info client closed: the process is retired
5 0 release :b -> info client closed: the process is retired
6.. 5 acquire :b -> info`},
	{"a process that has released holds nothing when it is retired", `
{:type :invoke, :process 0, :f :acquire, :time 0}
{:type :ok, :process 0, :f :acquire, :time 1000000}
{:type :invoke, :process 0, :f :release, :time 2000000}
{:type :ok, :process 0, :f :release, :time 3000000}
{:type :invoke, :process 0, :f :acquire, :time 4000000}
{:type :info, :process 0, :f :acquire, :time 5000000}`, `
0..1 0 acquire L -> ok
2..3 0 release L -> ok
4..5 0 acquire L -> info`},
	{"an integer that only the answer brings is a token", `
{:type :invoke, :process 0, :f :acquire, :value nil, :time 0}
{:type :ok, :process 0, :f :acquire, :value 33, :time 1000000}
{:type :invoke, :process 0, :f :release, :value 33, :time 2000000}
{:type :ok, :process 0, :f :release, :value 33, :time 3000000}`, `
tokens: ordered
0..1 0 acquire L -> ok token=33
2..3 0 release L -> ok`},
	{"a value that acquire and release have in common is the name of a lock, and no token", `
{:type :invoke, :process 0, :f :acquire, :value 7, :time 0}
{:type :ok, :process 0, :f :acquire, :value 7, :time 1000000}
{:type :invoke, :process 1, :f :acquire, :value 8, :time 1000000}
{:type :ok, :process 1, :f :acquire, :value 8, :time 1500000}
{:type :invoke, :process 0, :f :release, :value 7, :time 2000000}
{:type :ok, :process 0, :f :release, :value 7, :time 3000000}`, `
0..1 0 acquire 7 -> ok
1..1.5 1 acquire 8 -> ok
2..3 0 release 7 -> ok`},
	{"0 as :fence is no token, so there are none", `
{:type :invoke, :process 0, :f :acquire, :value nil, :time 0}
{:type :ok, :process 0, :f :acquire, :value {:fence 0, :client "c"}, :time 1000000}`, `
0..1 0 acquire L -> ok`},
	{"0 as :token is one", `
{:type :invoke, :process 0, :f :acquire, :value nil, :time 0}
{:type :ok, :process 0, :f :acquire, :value {:token 0}, :time 1000000}`, `
tokens: ordered
0..1 0 acquire L -> ok token=0`},
	{"some acquires bring a token and some do not", `
{:type :invoke, :process 0, :f :acquire, :time 0}
{:type :ok, :process 0, :f :acquire, :value 1, :time 1000000}
{:type :invoke, :process 1, :f :acquire, :time 0}
{:type :ok, :process 1, :f :acquire, :time 1000000}`, `
! f: 1 acquires brought a token and 1 did not: tokens are not looked at
0..1 0 acquire L -> ok
0..1 1 acquire L -> ok`},
	{"the register's first value was read, and nobody wrote it", `
{:type :invoke, :process 0, :f :read, :value nil, :time 0}
{:type :invoke, :process 1, :f :write, :value 3, :time 500000}
{:type :ok, :process 0, :f :read, :value 0, :time 1000000}
{:type :ok, :process 1, :f :write, :value 3, :time 2000000}`, `
initial: R = 0
0..1 0 read R -> ok value=0
0.5..2 1 write R 3 -> ok`},
	{"a first value that was written as well is unknown: who may have read it is left out", `
{:type :invoke, :process 0, :f :write, :value 0, :time 0}
{:type :invoke, :process 1, :f :read, :value nil, :time 0}
{:type :ok, :process 1, :f :read, :value 0, :time 1000000}
{:type :invoke, :process 1, :f :write, :value 1, :time 2000000}
{:type :ok, :process 1, :f :write, :value 1, :time 3000000}
{:type :invoke, :process 1, :f :read, :value nil, :time 4000000}
{:type :ok, :process 1, :f :read, :value 0, :time 5000000}
{:type :ok, :process 0, :f :write, :value 0, :time 6000000}`, `
! f: 1 reads may have come before the first acknowledged write, and what the register held then is unknown: they are left out
0..6 0 write R 0 -> ok
2..3 1 write R 1 -> ok
4..5 1 read R -> ok value=0`},
	{"a compare-and-set is less than it was: a read and a write of two workers", `
{:type :invoke, :process 0, :f :read, :value nil, :time 0}
{:type :ok, :process 0, :f :read, :value nil, :time 1000000}
{:type :invoke, :process 0, :f :cas, :value [nil 2], :time 2000000}
{:type :ok, :process 0, :f :cas, :value [nil 2], :time 3000000}
{:type :invoke, :process 0, :f :cas, :value [1 3], :time 4000000}
{:type :fail, :process 0, :f :cas, :value [1 3], :time 5000000}
{:type :invoke, :process 0, :f :cas, :value [2 4], :time 6000000}
{:type :info, :process 0, :f :cas, :value [2 4], :time 7000000}`, `
! f: 3 :cas are taken for a read and a write, and other writes may come between: what gets lost there is not judged
0..1 0 read R -> ok value=
2..3 0-cas write R 2 -> ok
2..3 0 read R -> ok value=
4..5 0-cas write R 3 -> fail
6..7 0-cas write R 4 -> info`},
	{"keys are registers, and equal texts of other kinds are other values", `
{:type :invoke, :process 0, :f :write, :value ["a" 3], :time 0}
{:type :ok, :process 0, :f :write, :value ["a" 3], :time 1000000}
{:type :invoke, :process 0, :f :write, :value [:a "3"], :time 2000000}
{:type :ok, :process 0, :f :write, :value [:a "3"], :time 3000000}
{:type :invoke, :process 0, :f :read, :value [a nil], :time 4000000}
{:type :ok, :process 0, :f :read, :value [a {:b #{1}, :a [3.0 \x]}], :time 5000000}`, `
initial: 'a = {:a [3.0 \x] :b #{1}}
0..1 0 write a 3 -> ok
2..3 0 write :a "3" -> ok
4..5 0 read 'a -> ok value={:a [3.0 \x] :b #{1}}`},
	{"a lock guards the register in which all writes lie in a hold", `
{:type :invoke, :process 0, :f :acquire, :time 0}
{:type :ok, :process 0, :f :acquire, :time 1000000}
{:type :invoke, :process 0, :f :write, :value 1, :time 2000000}
{:type :ok, :process 0, :f :write, :value 1, :time 3000000}`, `
guards: L -> R
0..1 0 acquire L -> ok
2..3 0 write R 1 -> ok`},
	{"a write outside of any hold: the lock may have nothing to do with it", `
{:type :invoke, :process 0, :f :acquire, :time 0}
{:type :ok, :process 0, :f :acquire, :time 1000000}
{:type :invoke, :process 1, :f :write, :value 1, :time 2000000}
{:type :ok, :process 1, :f :write, :value 1, :time 3000000}`, `
! f: nothing says that a lock guards the registers: their 1 operations are left out
0..1 0 acquire L -> ok`},
	{"the nemesis says :info twice, and what it pauses is no worker", `
{:type :info, :process :nemesis, :f :pause, :value :all, :time 0}
{:type :info, :process :nemesis, :f :start-partition, :value nil, :time 1000000}
{:type :info, :process :nemesis, :f :pause, :value {"n1" :paused}, :time 2000000}
{:type :info, :process :nemesis, :f :start-partition, :value "majority  ring", :time 3000000}
{:type :info, :process :nemesis, :f :kill, :value "0", :time 4000000}
{:type :info, :process :nemesis, :f :heal, :value nil, :time 5000000, :error :timeout}
{:type :info, :process :nemesis, :f :heal, :value nil, :time 6000000, :error :timeout}`, `
0..2 nemesis pause-nodes {"n1" :paused}
1..3 nemesis start-partition majority ring
4.. nemesis kill-nodes 0
5..6 nemesis heal-nodes -> info timeout`},
	{"no time, so positions count", `
{:type :invoke, :process 0, :f :acquire}
{:type :ok, :process 0, :f :acquire, :time 12}`, `
! f: no :time in line 1: positions stand for times
0..0.000001 0 acquire L -> ok`},
	{"one vector, tags, comments, discarded forms, and keys that are no EDN", `
; a comment
[#jepsen.history.Op{:type :invoke, :process 0, :f :acquire, :time 0, :at #inst "2026-01-01", :x 0x1f, :y 1/2, :z ##Inf, :re #"a\"}", :c \} }
 #_ {:type :bad} #_ #_ 1 2 {:type
  :ok :process 0 #_ :lost :f :acquire ; here, too }
  :time 1000000}]`, `
0..1 0 acquire L -> ok`},
	{"an operation of another model", `{:type :invoke, :process 0, :f :txn, :value []}`,
		`error f:1: :f :txn is none of a lock (acquire, release) or a register (read, write, cas)`},
	{"two open operations", "{:type :invoke, :process 0, :f :read}\n{:type :invoke, :process 0, :f :read}",
		`error f:2: process 0 invokes :read, but its :read of line 1 is still open`},
	{"an answer to nothing", `{:type :ok, :process 0, :f :read}`, `error f:1: completion of :read, which process 0 did not invoke before`},
	{"an answer to something else", "{:type :invoke, :process 0, :f :read}\n{:type :ok, :process 0, :f :write}",
		`error f:2: process 0 completes :write, but has invoked :read in line 1`},
	{"an answer for another key", "{:type :invoke, :process 0, :f :read, :value [1 nil]}\n{:type :ok, :process 0, :f :read, :value [2 nil]}",
		`error f:1: :read of process 0: it is answered for another key`},
	{"times that run backwards", "{:type :invoke, :process 0, :f :read, :time 2}\n{:type :ok, :process 0, :f :read, :time 1}",
		`error f:1: answered at 1 ns, before its invocation at 2 ns`},
	{"values of two forms", "{:type :invoke, :process 0, :f :read, :value [1 nil]}\n{:type :invoke, :process 1, :f :write, :value 1}",
		`error f:2: :write of process 1: its value has another form than those before`},
	{"a cas without two values", "{:type :invoke, :process 0, :f :cas, :value 1}", `error f:1: :cas of process 0: its value is not [old new]`},
	{"locks that cannot be told apart", "{:type :invoke, :process 0, :f :acquire, :value 1}\n{:type :invoke, :process 1, :f :acquire, :value nil}",
		`error f:1: :acquire of process 0: some acquires have a value, and others none: it can't be told which lock they mean`},
	{"a release that names no lock", "{:type :invoke, :process 0, :f :acquire, :value [1 nil]}\n{:type :invoke, :process 1, :f :release, :value nil}",
		`error f:2: :release of process 1: its value does not name a lock, as [lock x] does elsewhere`},
	{"no type", `{:process 0, :f :read}`, `error f:1: key :type is missing`},
	{"another type", `{:type :done, :process 0, :f :read}`, `error f:1: unknown type "done"`},
	{"no process", `{:type :ok, :f :read}`, `error f:1: key :process is missing`},
	{"another process", `{:type :ok, :f :read, :process :logger}`, `error f:1: process ":logger" is neither a number from 0 nor :nemesis`},
	{"no function", `{:type :ok, :process 0}`, `error f:1: key :f is missing`},
	{"a time that is no integer", `{:type :ok, :process 0, :f :read, :time 1.5}`, `error f:1: :time: "1.5" is not an integer of 64 bits`},
	{"a negative time", `{:type :invoke, :process 0, :f :read, :time -1}`, `error f:1: time -1 ns is negative`},
	{"a value that is no EDN", `{:type :invoke, :process 0, :f :write, :value 0x1f}`, `error f:1: bad value "0x1f": invalid character 'x' - unexpected rune after legal integer`},
	{"a key twice", `{:type :ok, :type :ok}`, `error f:1: key :type stands twice`},
	{"a key without a value", `{:type :ok, :f}`, `error f:1: a key without a value`},
	{"a bracket of another kind", `{:type :ok, :f [1}`, `error f:1: unexpected '}', want ']'`},
	{"a set", `#{:type :ok}`, `error f:1: unexpected "#{", want an operation: a map`},
	{"a number", `[1]`, `error f:1: unexpected "1", want an operation: a map`},
	{"text after the vector", `[] {}`, `error f:1: more text after the operations`},
	{"a vector without an end", "[{:type :invoke, :process 0, :f :read}\n", `error f:2: the file ends before the ']' that closes its operations`},
	{"an operation without an end, in a vector", "[{:type :invoke, :process 0", `error f:1: the file ends inside an operation`},
	{"nothing but an operation without an end", "{:type :invoke", `error f:1: the file ends inside an operation`},
	{"nothing", " ; a comment\n", `error f:1: empty file`},
	{"a torn last line", "{:type :invoke, :process 0, :f :acquire, :time 0}\n{:type :ok, :proc", `
! f:2: dropped the last operation, which is torn
0.. 0 acquire L -> info`},
	{"invalid UTF-8", "{:type :ok, :process 0, :f :read, :value \"\xff\"}", `error f:1: invalid UTF-8`},
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, row := range shapes {
		if got, want := shown(strings.TrimPrefix(row.in, "\n")), strings.TrimPrefix(row.want, "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", row.why, got, want)
		}
	}
}

// shown is what a file becomes: warnings, the header where it is not the plainest,
// and the operations; or the error.
func shown(in string) string {
	h, err := edn.Decode(strings.NewReader(in), "f")
	if err != nil {
		if h != nil {
			return "a history beside an error"
		}
		return "error " + err.Error()
	}
	return shownHistory(h)
}

func shownHistory(h *histories.History) string {
	var lines []string
	for _, w := range h.Warnings {
		lines = append(lines, "! "+w)
	}
	if h.Header.Tokens == histories.TokensOrdered {
		lines = append(lines, "tokens: ordered")
	}
	for _, g := range h.Header.Guards {
		lines = append(lines, "guards: "+g.Lock+" -> "+g.Resource)
	}
	for resource, value := range h.Header.Initial {
		lines = append(lines, "initial: "+resource+" = "+value)
	}
	for i := range h.Ops {
		lines = append(lines, histories.FormatOperation(&h.Ops[i]))
	}
	return strings.Join(lines, "\n")
}

func TestNotationIsKnownByItsFirstBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"{:type :ok}": true, " ; c\n{ ,:type": true, "[{": true, "(": true, "#jepsen.history.Op{:index": true, "#op {": true,
		`{"format":"leasehold-history"}`: false, "# a comment": false, "#a comment": false, "fence: off": false, "0..2 1 acquire L": false, "": false, "{": false, "#": false,
	} {
		if edn.Is([]byte(text)) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}

// What was read from Jepsen's file and is written again is read as the same.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.edn")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var inputs []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, string(b))
	}
	for _, row := range shapes {
		inputs = append(inputs, row.in)
	}
	kept := 0
	for _, in := range inputs {
		if strings.Contains(in, ":cas") {
			continue // the parts of it cannot be joined again
		}
		h, err := edn.Decode(strings.NewReader(in), "f")
		if err != nil {
			continue
		}
		kept++
		var b bytes.Buffer
		left, err := edn.Encode(&b, h)
		if err != nil || len(left) > 0 {
			t.Errorf("%s\n%v, left out: %v", in, err, left)
			continue
		}
		h.Warnings = nil
		if got, want := shown(b.String()), shownHistory(h); got != want {
			t.Errorf("%s\n got %s\nwant %s\n from %s", in, got, want, b.String())
		}
	}
	if kept < 15 {
		t.Errorf("only %d files were read", kept)
	}
}
