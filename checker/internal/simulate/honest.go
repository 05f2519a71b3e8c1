package simulate

import (
	"fmt"
	"math/rand/v2"

	"github.com/leasehold-checker/leasehold/histories"
)

// Outcome is a simulated history, and what is known about it.
type Outcome struct {
	Setting Setting
	History *histories.History
	// Untrue names the properties, report ones, that somebody gave reason to call
	// invalid although all else was honest: a client that gave up a lease early
	// ("belief"), or one that took a dead grant after it had been stopped
	// ("live-grant").
	Untrue map[string]bool
	// Lied tells whether the lie was told at all.
	Lied bool
}

// Honest simulates a small history, all of whose parties are honest. Equal seeds give
// equal histories.
func Honest(seed uint64, s Setting) Outcome { return simulate(seed, s, "") }

// Dishonest simulates a small history in which a lie is told, where there is occasion.
func Dishonest(seed uint64, s Setting, l Lie) Outcome { return simulate(seed, s, l) }

func simulate(seed uint64, s Setting, lie Lie) Outcome {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 5)), Setting: s, lie: lie, untrue: map[string]bool{}}
	w.build()
	w.trouble()
	w.run()
	return Outcome{Setting: s, History: w.history(), Untrue: w.untrue, Lied: w.lied}
}

func (w *world) build() {
	for k := range w.Locks {
		l := &lock{w: w, name: fmt.Sprintf("L%d", k)}
		if w.Tokens == Negative {
			l.token = -1 - w.Int64N(9)
		}
		w.locks = append(w.locks, l)
		for n := range w.Setting.Resources {
			r := &resource{w: w, name: fmt.Sprintf("R%d-%d", k, n), lock: l, last: map[*client]int{}, commits: w.Int64N(3)}
			if w.chance(0.9) {
				r.start, r.value = "start", "start"
			}
			w.resources = append(w.resources, r)
		}
	}
	for k := range w.Workers + w.Bystanders {
		c := &client{w: w, name: fmt.Sprintf("W%d", k), reads: k >= w.Workers, steps: w.Steps, had: map[*lock][]*hold{}}
		w.clients = append(w.clients, c)
		c.next()
	}
}
