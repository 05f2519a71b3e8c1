package histories_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/histories"
)

func TestLegalLookAlikes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ why, text string }{
		{"a worker goes on after an info, under its name", "0..2 1 acquire L -> info timeout\n3..4 1 acquire L -> ok token=1"},
		{"answers and invocations may share an instant", "0..2 1 acquire L -> ok token=1\n2..4 1 check L -> ok held=true\n4 1 release L -> ok"},
		{"a keepalive renews while its worker waits", "0..9 1 acquire L -> ok token=1\n2..12 1 renew L -> ok\n3..4 1 renew L -> ok\n5 1 lost L"},
		{"the nemesis does several things at once", "0..9 nemesis partition a\n1..5 nemesis pause 1\n2.. nemesis kill 2"},
		{"the store may see several things at once", "0..9 store elects n1\n1 store expire L of 1"},
		{"an operation that names its lock needs no guards", "0 1 acquire L -> ok token=1\n1 1 acquire M -> ok token=1\n2 1 write R a lock=M -> ok"},
		{"0 is a token, and so is a negative number", "0 1 acquire L -> ok token=0\n1 1 write R a token=-1 -> ok"},
		{"a reason may hold an arrow", "0 1 acquire L -> fail held: a -> b"},
		{"an untouched resource holds the empty string", "0 1 acquire L -> ok token=1\n1 1 read R -> ok value="},
		{"blank lines, carriage returns and indented comments", "\r\n  # x\r\n0 1 acquire L -> ok token=1\r\n"},
	} {
		if _, err := histories.ParseText(strings.NewReader(row.text), "f"); err != nil {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

// Histories made in memory are judged like files.
func TestValidateNamesTheOperation(t *testing.T) {
	t.Parallel()
	ok := histories.Operation{Process: "1", F: histories.Check, Type: histories.OK, Lock: "L", Invoke: 1, Return: 2}
	for _, row := range []struct {
		why    string
		change func(*histories.Operation)
		want   string
	}{
		{"an operation must have ended somehow", func(o *histories.Operation) { o.Type = "" }, `unknown type ""`},
		{"only info may lack an answer", func(o *histories.Operation) { o.Return = histories.Never }, "ok without an answer"},
		{"an answer comes after the question", func(o *histories.Operation) { o.Return = 0 }, "before its invocation"},
		{"held belongs to an answer that is ok", func(o *histories.Operation) { o.Type, o.Held = histories.Info, histories.Some(true) }, "held is not allowed on the info of check"},
		{"a check writes nothing", func(o *histories.Operation) { o.Value = histories.Some("a") }, "value is not allowed"},
		{"a late grant needs a name", func(o *histories.Operation) { o.GrantLate = true }, "no name"},
		{"an invalid letter could not be written", func(o *histories.Operation) { o.Lock = "L\xff" }, "invalid UTF-8"},
		{"a worker has a name", func(o *histories.Operation) { o.Process = "" }, "no process"},
	} {
		o := ok
		row.change(&o)
		err := histories.Validate(&histories.History{Ops: []histories.Operation{o}})
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "history: op 0 of process") {
			t.Errorf("%s: got %v, want %s", row.why, err, row.want)
		}
	}
	two := ok
	two.Invoke, two.Return = 3, 3
	h := &histories.History{Ops: []histories.Operation{ok, two}}
	if err := histories.Validate(h); err == nil || !strings.Contains(err.Error(), "stands twice") {
		t.Errorf("one id for two operations: %v", err)
	}
}

func TestTimesAreExact(t *testing.T) {
	t.Parallel()
	text := "0.000001..12345678901.000009 1 acquire L -> ok token=9007199254740993"
	h, err := histories.ParseText(strings.NewReader(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	o := h.Ops[0]
	if o.Invoke != 1 || o.Return != 12345678901000009 || o.Token != histories.Some(int64(9007199254740993)) {
		t.Errorf("got %d..%d, token %v", o.Invoke, o.Return, o.Token)
	}
	if got := histories.FormatOperation(&o); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
}

func TestTokenMayStandInQuotes(t *testing.T) {
	t.Parallel()
	text := smallHeader +
		`{"index":0,"time_ns":0,"process":"1","op":7,"type":"invoke","f":"acquire","lock":"\u004c\ud83d\ude00\n"}` + "\n" +
		` { "index" : 3 , "time_ns" : 1 , "process":"1","op":7,"type":"ok","f":"acquire","token":"-9223372036854775808" } ` + "\n"
	h, err := histories.DecodeJSONL(strings.NewReader(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	if o := h.Ops[0]; o.Token != histories.Some(int64(-1<<63)) || o.Lock != "L😀\n" || o.ID != 7 || o.Line != 2 {
		t.Errorf("got %+v", o)
	}
}
