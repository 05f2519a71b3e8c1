package simulate

import (
	"container/heap"
	"math/rand/v2"

	"github.com/leasehold-checker/leasehold/histories"
)

const ms = int64(1_000_000) // in ns

// world is one small history in the making.
type world struct {
	*rand.Rand
	Setting
	lie  Lie
	lied bool

	now   int64 // ns
	queue events
	order int

	entries   []*entry // in the order in which they began
	locks     []*lock
	resources []*resource
	clients   []*client
	untrue    map[string]bool
}

// event is something that happens at one moment. What happens at one time happens
// in the order in which it was planned.
type event struct {
	at    int64
	order int
	do    func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (w *world) at(t int64, do func()) {
	w.order++
	heap.Push(&w.queue, event{t, w.order, do})
}

func (w *world) after(d int64, do func()) { w.at(w.now+d, do) }

func (w *world) run() {
	for len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

// tick is the first tick of the clients' clock at or after t. Clients act and stamp
// at ticks only, so that with a coarse clock many times are equal.
func (w *world) tick(t int64) int64 { return (t + w.Grid - 1) / w.Grid * w.Grid }

// delay of a message, mostly short.
func (w *world) delay() int64 {
	longest := ms / 2
	switch {
	case w.chance(w.Slow):
		longest = 60 * ms
	case w.chance(0.3):
		longest = 4 * ms
	}
	return 1 + w.Int64N(longest)
}

// entry is an operation, and what it is about.
type entry struct {
	histories.Operation
	hold  *hold // the own grant to which it belongs, if its acquire was answered ok
	idle  bool  // its client does not claim to hold anything
	under *hold // of a write: the grant under which it was decided; nil: hold
}

// begin puts an operation on record. It is open until it is closed.
func (w *world) begin(o histories.Operation) *entry {
	o.Invoke, o.Return, o.Type = w.now, histories.Never, histories.Info
	e := &entry{Operation: o}
	w.entries = append(w.entries, e)
	return e
}

// line puts something on record that the store or the nemesis did just now. An
// observer may know only between which two times it was.
func (w *world) line(o histories.Operation) {
	e := w.begin(o)
	e.Return, e.Type = w.now, histories.OK
	if w.chance(w.Blurred) {
		e.Invoke = max(0, e.Invoke-w.Int64N(2*ms))
		e.Return += w.Int64N(2 * ms)
	}
}
