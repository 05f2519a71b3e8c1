package histories_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/leasehold-checker/leasehold/histories"
)

// randomHistory makes a valid history in which every attribute comes up. With
// text it holds only what the text notation can say.
func randomHistory(rng *rand.Rand, workers, opsEach int, text bool) *histories.History {
	g := generator{rng: rng, text: text, tokens: rng.IntN(2) == 0}
	h := &histories.History{Header: g.header()}
	for w := range workers {
		h.Ops = append(h.Ops, g.worker(fmt.Sprintf("W%d", w), opsEach)...)
	}
	h.Ops = append(h.Ops, g.others(histories.Nemesis, opsEach)...)
	h.Ops = append(h.Ops, g.others(histories.Store, opsEach)...)
	slices.SortStableFunc(h.Ops, func(a, b histories.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	if rng.IntN(2) == 0 {
		h.Header.End = histories.Some(int64(1) << 50)
	}
	return h
}

type generator struct {
	rng    *rand.Rand
	text   bool
	tokens bool
}

func (g *generator) header() histories.Header {
	h := histories.Header{
		Fence:   pick(g.rng, histories.FenceOff, histories.FenceWrites, histories.FenceAll),
		Tokens:  histories.TokensNone,
		Guards:  []histories.Guard{{Lock: "L", Resource: "R"}, {Lock: "L", Resource: "S"}},
		Initial: map[string]string{"R": "0", "S": ""},
		Expect:  map[string]string{"stale-write": "valid"},
		From:    []string{"https://example.org/1", "a book, page 2"},
		Needs:   []string{"liveness", "shared"},
	}
	if g.tokens {
		h.Tokens = histories.TokensOrdered
	}
	if !g.text {
		h.Cell, h.Seed = "a/b/c", histories.Some(int64(-7))
		h.Versions = map[string]string{"etcd": "3.7.3"}
	}
	return h
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// maybe gives one of the values, or the zero value.
func maybe[T any](rng *rand.Rand, of ...T) T {
	var zero T
	if rng.IntN(2) == 0 {
		return zero
	}
	return pick(rng, of...)
}

func (g *generator) number() histories.Option[int64] {
	return maybe(g.rng, histories.Some(int64(0)), histories.Some(g.rng.Int64()), histories.Some(-g.rng.Int64()))
}

// word is a string for a name or a value; the text notation needs one word.
func (g *generator) word() string {
	if g.text {
		return pick(g.rng, "a", "b1", "->>", "ä=ü", "x#", `"q"`, "1+2", "n1|n2")
	}
	return pick(g.rng, "a b", "\"\\\n\t\x01\x7f", "ü😀", "->", "token=1", " ", "</script>")
}

// words is a text of any length; the text notation needs one line.
func (g *generator) words() string {
	if g.text {
		return pick(g.rng, "timeout", "a -> b", "a -> ok", "a -> fail b", "-> x", "lock=1 x", "text=a  b", "point=", "a seq= b", "ok", "of")
	}
	return g.word() + "\n" + g.word()
}

func (g *generator) worker(name string, n int) []histories.Operation {
	var ops []histories.Operation
	now := int64(g.rng.IntN(10))
	for id := range n {
		o := histories.Operation{Process: name, ID: int64(id), Invoke: now}
		o.F = pick(g.rng, histories.Acquire, histories.Renew, histories.Release, histories.Check, histories.Lost, histories.Open, histories.Read, histories.Write)
		o.Type = pick(g.rng, histories.OK, histories.Fail, histories.Info)
		o.Return = o.Invoke + pick(g.rng, 0, 1, 1_000_000, g.rng.Int64N(1<<30))
		g.lockOp(&o)
		g.resourceOp(&o)
		if o.F == histories.Lost {
			o.Type, o.Error = histories.OK, ""
		}
		if o.Type != histories.OK && o.Error == "" {
			o.Error = maybe(g.rng, "fenced", "held", g.words())
		}
		last := id == n-1
		if last && g.rng.IntN(2) == 0 && o.F != histories.Lost {
			g.unanswer(&o)
		}
		ops = append(ops, o)
		if o.F != histories.Renew && o.F != histories.Lost && !last {
			now = o.Return
		}
		now += pick(g.rng, 0, 1, g.rng.Int64N(1<<20))
	}
	return ops
}

// unanswer takes back what only an answer can bring.
func (g *generator) unanswer(o *histories.Operation) {
	o.Type, o.Return, o.Error = histories.Info, histories.Never, ""
	o.TTL, o.Held, o.HoldsLeft, o.Seq = 0, histories.Option[bool]{}, histories.Option[int64]{}, histories.Option[int64]{}
	if o.F == histories.Acquire {
		o.Token = histories.Option[int64]{}
	}
	if o.F != histories.Write {
		o.Value = histories.Option[string]{}
	}
	if o.GrantLate {
		o.Grant, o.GrantLate = "", false
	}
}

func (g *generator) lockOp(o *histories.Operation) {
	if !o.F.OnLock() {
		return
	}
	ok := o.Type == histories.OK
	o.Lock, o.Session, o.Grant = "L", maybe(g.rng, g.word()), maybe(g.rng, g.word())
	if o.F == histories.Acquire {
		o.Mode = maybe(g.rng, "shared")
		o.GrantLate = ok && o.Grant != "" && g.rng.IntN(2) == 0
		if ok && g.tokens {
			o.Token = histories.Some(g.rng.Int64())
		}
	}
	if o.F == histories.Acquire || o.F == histories.Renew {
		o.TTLAsked = maybe(g.rng, int64(1), 2000)
		if ok {
			o.TTL = maybe(g.rng, int64(3), 2000)
		}
	}
	if o.F == histories.Check && ok {
		o.Held = maybe(g.rng, histories.Some(true), histories.Some(false))
	}
	if ok && o.F != histories.Lost {
		o.HoldsLeft = maybe(g.rng, histories.Some(int64(0)), histories.Some(int64(3)))
	}
}

func (g *generator) resourceOp(o *histories.Operation) {
	if !o.F.OnResource() {
		return
	}
	o.Resource, o.Lock, o.Grant = pick(g.rng, "R", "S"), maybe(g.rng, "K"), maybe(g.rng, g.word())
	if g.tokens {
		o.Token = g.number()
	}
	if o.Type != histories.Info {
		o.Seq = g.number()
	}
	switch {
	case o.F == histories.Write:
		o.Value, o.Under = histories.Some(g.word()), maybe(g.rng, g.word())
	case o.F == histories.Read && o.Type == histories.OK:
		o.Value = maybe(g.rng, histories.Some(""), histories.Some(g.word()))
	}
}

func (g *generator) others(process string, n int) []histories.Operation {
	var ops []histories.Operation
	now := int64(0)
	for id := range n {
		o := histories.Operation{Process: process, ID: int64(id), Invoke: now, Type: histories.OK, Text: maybe(g.rng, g.words(), "a  b")}
		o.F = pick(g.rng, histories.Pause, histories.Heal, histories.Expire, histories.Revoke, histories.F("note"))
		o.Return = o.Invoke + pick(g.rng, 0, g.rng.Int64N(1<<30))
		switch {
		case process == histories.Nemesis:
			o.Target, o.Point = "W1", maybe(g.rng, histories.PointChecked)
		default:
			o.Lock, o.Target = "L", "W1"
		}
		if o.F == "note" {
			o.Target, o.Lock = maybe(g.rng, "W1"), ""
		}
		switch g.rng.IntN(4) {
		case 0:
			o.Type, o.Error = pick(g.rng, histories.Fail, histories.Info), maybe(g.rng, "no such process")
		case 1:
			o.Type, o.Return = histories.Info, histories.Never
		}
		ops = append(ops, o)
		now += pick(g.rng, 0, g.rng.Int64N(1<<20))
	}
	return ops
}
