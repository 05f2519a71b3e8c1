package histories_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

// malformed says for each file of testdata/malformed what is wrong: "line: what".
var malformed = map[string]string{
	"acquire-without-lock.jsonl":        `2: acquire without a lock`,
	"acquire-without-token.hist":        `1: acquire ok without a token, but the lock issues tokens (tokens: ordered)`,
	"acquire-without-token.jsonl":       `2: acquire ok without a token, but the lock issues tokens (tokens: ordered)`,
	"after-the-end.jsonl":               `2: after the end of the history at 4 ns`,
	"answer-after-end.hist":             `3: after the end of the history at 9000000 ns`,
	"answer-before-invocation.hist":     `3: answered before its invocation: 5..4`,
	"answer-before-invocation.jsonl":    `2: ok of op 0 of process 1, which was not invoked before`,
	"answer-without-invocation.jsonl":   `4: ok of op 1 of process 1, which was not invoked before`,
	"answered-as-another.jsonl":         `3: op 0 of process 1 is answered as renew, but was invoked as acquire in line 2`,
	"answered-twice.jsonl":              `4: op 0 of process 1 has an answer already`,
	"argument-twice.hist":               `3: "token" stands twice`,
	"array.jsonl":                       `2: unexpected '[', want {`,
	"bad-process.hist":                  `3: bad process "1=2", want letters and digits`,
	"bad-time.hist":                     `3: bad time "3s", want ms with up to six decimals`,
	"control-character.jsonl":           `2: lock: control character '\x01' in a string`,
	"duplicate-key.jsonl":               `2: key "lock" stands twice`,
	"empty-name.jsonl":                  `2: lock: empty; leave the key out instead`,
	"empty.jsonl":                       `empty file`,
	"exclusive-mode.hist":               `1: unknown mode "exclusive", want shared or none`,
	"expire-of-nobody.hist":             `3: want expire LOCK of P`,
	"exponent-time.jsonl":               `2: time_ns: a fraction, want an integer`,
	"float-time.jsonl":                  `2: time_ns: a fraction, want an integer`,
	"garbage-after-object.jsonl":        `2: more text after the object`,
	"grant-named-twice.hist":            `1: grant=a: grant is named twice: by the arguments and by the result`,
	"grant-named-twice.jsonl":           `3: grant is named twice: by the invocation and by the answer`,
	"half-a-surrogate-pair.jsonl":       `2: lock: half a surrogate pair`,
	"header-after-event.hist":           `3: a header line after the first event`,
	"header-duplicate-key.jsonl":        `1: header: key "fence" stands twice`,
	"header-float-end.jsonl":            `1: header: end_ns: cannot be a number 1.5`,
	"header-null.jsonl":                 `1: header: key "fence" is null; leave it out instead`,
	"header-twice.hist":                 `2: fence: stands twice`,
	"header-two-guards.jsonl":           `1: header: resource "R" has two guards: "L" and "M"`,
	"header-unknown-fence.jsonl":        `1: header: unknown fence "reads", want off, writes or all`,
	"header-unknown-key.jsonl":          `1: header: unknown key "guard"`,
	"held-not-a-boolean.hist":           `3: held=maybe: want true or false`,
	"huge-time.jsonl":                   `2: time beyond 2305843009213693952 ns`,
	"index-repeats.jsonl":               `3: index 0, after 0`,
	"integer-beyond-64-bits.jsonl":      `3: token: 9223372036854775808 is beyond 64 bits`,
	"invalid-utf8.hist":                 `3: invalid UTF-8`,
	"invalid-utf8.jsonl":                `2: lock: invalid UTF-8`,
	"key-in-other-letters.jsonl":        `2: unknown key "Lock"`,
	"leading-zero.jsonl":                `3: token: an integer with a leading zero`,
	"line-after-end.hist":               `4: a line after the end`,
	"lines-out-of-order.hist":           `4: lines out of order: invoked before the line above`,
	"lost-with-a-result.hist":           `3: lost has no result: it is something that the worker was told`,
	"missing-header.jsonl":              `1: no header: the first line must be an object with "format":"leasehold-history"`,
	"missing-key.jsonl":                 `2: key "op" is missing`,
	"negative-count.jsonl":              `2: a count that is negative`,
	"negative-time.hist":                `3: bad time "-3", want ms with up to six decimals`,
	"negative-time.jsonl":               `2: time_ns -1 is negative`,
	"nemesis-writes.jsonl":              `2: write is a function of workers, not of nemesis`,
	"nested-object.jsonl":               `2: lock: unexpected '{', want a string`,
	"null-value.jsonl":                  `2: lock: unexpected 'n', want a string`,
	"ok-without-answer.hist":            `3: ok without an answer`,
	"op-invoked-twice.jsonl":            `4: op 0 of process 1 was invoked before, in line 2`,
	"other-format.jsonl":                `1: no header: the first line must be an object with "format":"leasehold-history"`,
	"pause-of-nobody.hist":              `3: pause without a target`,
	"pause-of-nobody.jsonl":             `2: pause without a target`,
	"prose.hist":                        `1: bad time "This", want ms with up to six decimals`,
	"read-without-resource.hist":        `3: read without a name`,
	"read-without-resource.jsonl":       `2: read without a resource`,
	"reason-without-answer.hist":        `3: a reason, but no answer that could have brought it`,
	"resource-without-guard.hist":       `4: no lock is known to guard resource "R"; the header's guards or lock on the operation must name it`,
	"resource-without-guard.jsonl":      `2: no lock is known to guard resource "S"; the header's guards or lock on the operation must name it`,
	"seq-not-a-number.hist":             `3: seq=x: unexpected 'x', want an integer`,
	"seven-decimals.hist":               `3: bad time "3.0000001", want ms with up to six decimals`,
	"string-for-integer.jsonl":          `2: op: unexpected '"', want an integer`,
	"time-runs-backwards.jsonl":         `4: time runs backwards in process 1: 4 ns, after 5 ns in line 3`,
	"token-in-words.jsonl":              `3: token: "0x21" is not an integer`,
	"token-not-a-number.hist":           `3: token=3.0: a fraction, want an integer`,
	"token-of-a-lock-without.hist":      `3: a token, but the lock issues none (tokens: none)`,
	"token-of-a-lock-without.jsonl":     `2: a token, but the lock issues none (tokens: none)`,
	"token-on-acquire-invocation.jsonl": `2: token is not allowed on the invoke of acquire`,
	"torn-header.jsonl":                 `1: header: unexpected end of JSON input`,
	"torn-line-inside.jsonl":            `3: line is torn: it ends inside its object`,
	"ttl-on-a-read.hist":                `3: ttl_ms is not allowed on the invoke of read`,
	"two-objects-in-a-line.jsonl":       `2: more text after the object`,
	"two-open-operations.hist":          `4: worker 1 has two open operations: write, and read of line 3`,
	"two-open-operations.jsonl":         `3: worker 1 has two open operations: write, and acquire of line 2`,
	"unanswered-then-another.hist":      `4: worker 1 has two open operations: write, and read of line 3`,
	"unanswered-then-another.jsonl":     `3: worker 1 has two open operations: write, and acquire of line 2`,
	"unknown-function.jsonl":            `2: unknown function "lease" of a worker`,
	"unknown-header.hist":               `1: unknown header line "fences:"`,
	"unknown-key.jsonl":                 `2: unknown key "ttl"`,
	"unknown-operation.hist":            `3: unknown function "lease" of a worker`,
	"unknown-result.hist":               `3: unknown result "yes", want ok, fail or info`,
	"unknown-type.jsonl":                `2: type: unknown type "started"`,
	"unknown-verdict.hist":              `1: unknown verdict "bad" of property "stale-write", want valid, invalid or unknown`,
	"unknown-word.hist":                 `3: unknown word "soon"`,
	"value-on-ok-of-write.jsonl":        `5: value is not allowed on the ok of write`,
	"write-without-value.hist":          `3: write without a value`,
	"write-without-value.jsonl":         `4: write without a value`,
	"wrong-version.jsonl":               `1: header: format version 2 is unknown, want 1`,
	"zero-ttl.jsonl":                    `2: ttl_ms 0 is not positive`,
}

func TestMalformedFilesAreNeverAHistory(t *testing.T) {
	t.Parallel()
	const dir = "testdata/malformed/"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(malformed) {
		t.Errorf("%d files, but %d expectations", len(files), len(malformed))
	}
	for _, f := range files {
		h, err := histories.ReadFile(dir + f.Name())
		if h != nil || err == nil {
			t.Errorf("%s was read as a history", f.Name())
			continue
		}
		got, named := strings.CutPrefix(err.Error(), dir+f.Name()+":")
		if want := malformed[f.Name()]; !named || strings.TrimSpace(got) != want {
			t.Errorf("%s\n got %v\nwant %s", f.Name(), err, want)
		}
	}
}

const smallHeader = `{"format":"leasehold-history","version":1}` + "\n"

// A line is refused before all of it is in memory.
func TestLongLinesAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	for name, text := range map[string]string{
		"an event":           smallHeader + `{"time_ns":0,"process":"1","text":"` + long + `"}` + "\n",
		"a line of a .hist":  "# one\n0 nemesis note " + long + "\n",
		"nothing but blanks": "\n" + strings.Repeat(" ", 10<<20),
	} {
		r := &countingReader{r: strings.NewReader(text)}
		h, err := histories.ReadFrom(r, "f")
		if h != nil || err == nil || err.Error() != "f:2: line is longer than 1 MiB" {
			t.Errorf("%s: got %v", name, err)
		}
		if r.n > 2<<20 {
			t.Errorf("%s: %d bytes were read", name, r.n)
		}
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

func TestTornLastLineIsDropped(t *testing.T) {
	t.Parallel()
	whole := smallHeader +
		`{"time_ns":0,"process":"1","op":0,"type":"invoke","f":"acquire","lock":"Lück","ttl_ms":2000}` + "\n" +
		`{"time_ns":5,"process":"1","op":0,"type":"ok","f":"acquire","token":33}`
	last := strings.LastIndex(whole, "\n") + 1
	for end := last + 1; end < len(whole); end++ {
		h, err := histories.ReadFrom(strings.NewReader(whole[:end]), "f")
		if err != nil {
			t.Fatalf("%q: %v", whole[last:end], err)
		}
		if len(h.Warnings) != 1 || h.Warnings[0] != "f:3: dropped the last line, which is torn" {
			t.Fatalf("%q: warnings %q", whole[last:end], h.Warnings)
		}
		if o := h.Ops[0]; o.Type != histories.Info || o.Return != histories.Never {
			t.Fatalf("%q: the operation is %s", whole[last:end], o.Type)
		}
	}
	h, err := histories.ReadFrom(strings.NewReader(whole), "f")
	if err != nil || h.Ops[0].Type != histories.OK || len(h.Warnings) != 0 {
		t.Errorf("a whole last line without an end: %v, %+v", err, h)
	}
	// Cut inside the two bytes of ü.
	cut := strings.Index(whole, "ü") + 1
	if h, err = histories.ReadFrom(strings.NewReader(whole[:cut]), "f"); err != nil || len(h.Ops) != 0 {
		t.Errorf("cut inside a letter: %v", err)
	}
	// What is wrong before the tear is no tear.
	if _, err = histories.ReadFrom(strings.NewReader(smallHeader+`{"time":0,"proc`), "f"); err == nil {
		t.Error("an unknown key in a torn line was dropped")
	}
}

func TestEmptyHistoryIsNoEmptyFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{smallHeader, "# nothing happened\n", "fence: all\n0 end\n"} {
		h, err := histories.ReadFrom(strings.NewReader(text), "f")
		if err != nil || len(h.Ops) != 0 {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "\n \n"} {
		if _, err := histories.ReadFrom(strings.NewReader(text), "f"); err == nil || err.Error() != "f: empty file" {
			t.Errorf("%q: %v", text, err)
		}
	}
}
