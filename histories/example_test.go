package histories_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/leasehold-checker/leasehold/histories"
)

const pausedHolder = `
# a paused holder writes after its successor
0..2       1 acquire L ttl=2000        -> ok token=33
500        nemesis pause 1
2600..2610 2 acquire L ttl=2000        -> ok token=34
2620..2622 2 write R b1 token=34       -> ok seq=1
4000       nemesis resume 1
4001..4003 1 write R a1 token=33       -> ok seq=2
4100..     2 release L                 -> info
6000       end
`

func ExampleParseText() {
	h, err := histories.ParseText(strings.NewReader(pausedHolder), "paused.hist")
	if err != nil {
		fmt.Println(err)
		return
	}
	late := h.Ops[5]
	token, _ := late.Token.Get()
	fmt.Println(late.Process, late.F, late.Resource, "under", token, "at", late.Invoke, "ns:", late.Type)
	// Output: 1 write R under 33 at 4001000000 ns: ok
}

func ExampleParseText_error() {
	_, err := histories.ParseText(strings.NewReader("0..2 1 acquire L ttl=2000 -> ok"), "bad.hist")
	fmt.Println(err)
	// Output: bad.hist:1: acquire ok without a token, but the lock issues tokens (tokens: ordered)
}

func ExampleFormatText() {
	h, err := histories.ParseText(strings.NewReader(pausedHolder), "paused.hist")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := histories.FormatText(os.Stdout, h); err != nil {
		fmt.Println(err)
	}
	// Output:
	// fence: off
	// tokens: ordered
	//
	// 0..2       1 acquire L ttl=2000  -> ok token=33
	// 500        nemesis pause 1
	// 2600..2610 2 acquire L ttl=2000  -> ok token=34
	// 2620..2622 2 write R b1 token=34 -> ok seq=1
	// 4000       nemesis resume 1
	// 4001..4003 1 write R a1 token=33 -> ok seq=2
	// 4100..     2 release L           -> info
	// 6000       end
}

func ExampleRecorder() {
	now := int64(0)
	clock := func() int64 { now += 1000; return now } // in earnest: monotonic.Now, less the beginning of the cell
	r := histories.NewRecorder(os.Stdout, "1", clock)
	id, err := r.Invoke(histories.Operation{F: histories.Acquire, Lock: "L", TTLAsked: 2000})
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here the request is sent, and its answer awaited.
	if err := r.Answer(id, histories.Operation{Type: histories.OK, Token: histories.Some(int64(33))}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"time_ns":1000,"process":"1","op":0,"type":"invoke","f":"acquire","lock":"L","ttl_ms":2000}
	// {"time_ns":2000,"process":"1","op":0,"type":"ok","f":"acquire","token":33}
}
