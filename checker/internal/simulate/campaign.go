package simulate

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/leasehold-checker/leasehold/histories"
)

// Plan of a large history. Its parties are honest, and as lucky as those of a small
// one: it is valid in every property, but for what is planted.
type Plan struct {
	Operations int     // of the workers in all, about
	Locks      int     // each guards one resource
	Workers    int     // for each lock
	Unknown    float64 // share of operations on a resource without an answer
	Pause      float64 // share of writes before which the holder stops for longer than its lease
	// Crowd: leases last, and who has not the lock tries for it or reads, instead of
	// waiting for it. The resource is never at rest.
	Crowd    bool
	Restless bool // nobody waits between two operations, and who has the lock writes a lot
	Numbered bool // the resource numbers its operations
	NoTokens bool
	Fence    histories.Fence
	Plant    Plant
	Seed     uint64
}

// One is one lock with one resource, where everybody reads all the time.
func One(operations, workers int) Plan {
	return Plan{Operations: operations, Locks: 1, Workers: workers, Crowd: true, Unknown: 0.01, Fence: histories.FenceWrites}
}

// Busy is One where as many operations are under way at any time as there are workers.
// It is hard on a search, and plain otherwise.
func Busy(operations, workers int) Plan {
	p := One(operations, workers)
	p.Restless = true
	return p
}

// Many is a campaign: 200 locks with five workers each, who take turns to read, write
// and read back; leases are renewed and run out.
func Many(operations int) Plan {
	return Plan{Operations: operations, Locks: 200, Workers: 5, Pause: 0.02, Unknown: 0.01, Fence: histories.FenceWrites}
}

const leaseTime = 2000 * ms

// field is a large history in the making. Every worker has one event ahead: an
// operation is asked, takes effect, and is answered. Operations are recorded as they
// are asked, so that the history comes out sorted.
type field struct {
	*rand.Rand
	Plan
	queue  moments
	ops    []histories.Operation
	hands  []hand
	places []place
	asked  int
	script *script
}

// hand is one worker.
type hand struct {
	name    string
	place   int32
	phase   phase
	op      int // its operation, in ops
	next    int64
	todo    [32]histories.F // under its grant; from the end
	left    int
	lease   int // of its grant; 0: it never had one
	token   int64
	holding bool // it believes
	zombie  bool // its lease was taken away, and it does not know
	base    int  // the effect of its last read under the grant; 0: none
	seen    int  // the effect of the operation
	lost    bool // it gets no answer
}

type phase uint8

const (
	asks phase = iota
	lands
	answers
)

// place is one lock and its resource.
type place struct {
	lock, resource string
	holder         int32 // hand; -1: free
	lease          int   // of the holder, and the number of all so far
	ends           int64
	token          int64
	waiting        []int32

	value            string
	top              int64
	touched          int // highest lease of an accepted write
	effects, commits int
	written          int
	lastWriter       int32
	lastWrite        int // effect of its last write
	otherWrite       int // effect of the last write by anybody else
}

// Campaign makes the history of a plan.
func Campaign(p Plan) *histories.History {
	f := &field{Rand: rand.New(rand.NewPCG(p.Seed, 7)), Plan: p, ops: make([]histories.Operation, 0, p.Operations+p.Operations/20)}
	for l := range p.Locks {
		f.places = append(f.places, place{lock: fmt.Sprintf("L%d", l), resource: fmt.Sprintf("R%d", l), holder: -1, lastWriter: -1, value: "v0"})
		for w := range p.Workers {
			f.hands = append(f.hands, hand{name: fmt.Sprintf("W%d-%d", l, w), place: int32(l)})
			f.queue.add(moment{f.Int64N(ms), int32(len(f.hands) - 1)})
		}
	}
	f.writeScript()
	f.run()
	return &histories.History{Header: f.header(), Ops: f.ops}
}

func (f *field) header() histories.Header {
	h := histories.Header{Fence: f.Fence, Tokens: histories.TokensOrdered, Initial: map[string]string{}}
	if f.NoTokens {
		h.Tokens = histories.TokensNone
	}
	for _, p := range f.places {
		h.Guards = append(h.Guards, histories.Guard{Lock: p.lock, Resource: p.resource})
		h.Initial[p.resource] = "v0"
	}
	return h
}

func (f *field) run() {
	for len(f.queue) > 0 {
		m := f.queue.next()
		switch {
		case m.who < 0:
			f.expire(int(^m.who), m.at)
		case m.who == director:
			f.play(m.at)
		case f.hands[m.who].phase == asks:
			f.ask(m.who, m.at)
		case f.hands[m.who].phase == lands:
			f.land(m.who, m.at)
		default:
			f.answer(m.who, m.at)
		}
	}
}

// some is the length of a way.
func (f *field) some() int64 { return 1000 + f.Int64N(60_000) }

// then plans the next phase of a worker.
func (f *field) then(who int32, p phase, at int64) {
	f.hands[who].phase = p
	f.queue.add(moment{at, who})
}

func (f *field) ask(who int32, now int64) {
	if f.asked >= f.Operations && !f.waitsForScript() {
		return
	}
	h := &f.hands[who]
	p := &f.places[h.place]
	f.asked++
	what := f.what(h, p)
	if what == histories.Write && f.Float64() < f.Pause { // it stops before it asks
		f.queue.add(moment{now + leaseTime + f.Int64N(leaseTime), who})
		h.todo[h.left] = histories.Write
		h.left++
		f.asked--
		return
	}
	f.begin(h, p, what, now)
	h.lost = what.OnResource() && f.Float64() < f.Unknown
	if h.lost && f.IntN(2) == 0 { // it never happens
		f.then(who, answers, now+2*f.some())
		return
	}
	f.then(who, lands, now+f.some())
}

// what a worker does next.
func (f *field) what(h *hand, p *place) histories.F {
	switch {
	case h.holding && h.left > 0:
		h.left--
		return h.todo[h.left]
	case !f.Crowd:
		return histories.Acquire
	case p.holder < 0 && f.IntN(2) == 0:
		return histories.Acquire
	case h.zombie && h.lease < p.touched && f.IntN(10) == 0:
		return histories.Write
	}
	return histories.Read
}

// begin records an operation.
func (f *field) begin(h *hand, p *place, what histories.F, now int64) {
	o := histories.Operation{Process: h.name, ID: h.next, F: what, Type: histories.Info, Invoke: now, Return: histories.Never}
	h.next++
	switch what {
	case histories.Read:
		o.Resource = p.resource
	case histories.Write:
		p.written++
		o.Resource, o.Value = p.resource, histories.Some("v"+strconv.Itoa(p.written))
		if !f.NoTokens {
			o.Token = histories.Some(h.token)
		}
	case histories.Release:
		o.Lock = p.lock
	default:
		o.Lock, o.TTLAsked = p.lock, f.ttl()/ms
	}
	h.op = len(f.ops)
	f.ops = append(f.ops, o)
}

func (f *field) ttl() int64 {
	if f.Crowd {
		return 1_000_000 * leaseTime
	}
	return leaseTime
}

// answer closes the operation, and the worker goes on.
func (f *field) answer(who int32, now int64) {
	h := &f.hands[who]
	o := &f.ops[h.op]
	o.Return = now
	if h.lost {
		o.Type, o.Value, o.Seq, o.Error = histories.Info, writtenOnly(o), histories.Option[int64]{}, histories.ErrTimeout
	}
	switch {
	case o.F == histories.Acquire && o.Type == histories.OK:
		f.plan(h)
	case o.F == histories.Release, o.Fenced() && !h.zombie:
		h.holding, h.left = false, 0
	case o.F == histories.Read && o.Type == histories.OK:
		h.base = h.seen
	}
	if h.holding && h.left == 0 { // it was not going to release
		f.revoke(h.place, now)
	}
	if f.Restless {
		f.then(who, asks, now+1)
		return
	}
	f.then(who, asks, now+f.some())
}

func writtenOnly(o *histories.Operation) histories.Option[string] {
	if o.F == histories.Write {
		return o.Value
	}
	return histories.Option[string]{}
}

// plan fills what a worker will do under its grant: read, write and read back, some
// times, and release. In a crowd an operator takes the lock from some, who do not
// notice.
func (f *field) plan(h *hand) {
	h.holding, h.zombie, h.base, h.left = true, false, 0, 0
	add := func(what histories.F) { h.todo[h.left] = what; h.left++ }
	if !f.Crowd || f.IntN(3) > 0 {
		add(histories.Release)
	}
	if f.Restless {
		for range 5 + f.IntN(20) {
			add(histories.Write)
		}
		add(histories.Read)
		return
	}
	for range 1 + f.IntN(3) {
		if f.IntN(4) == 0 && !f.Crowd {
			add(histories.Renew)
		}
		add(histories.Read)
		add(histories.Write)
		add(histories.Read)
	}
}
