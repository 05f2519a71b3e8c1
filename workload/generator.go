package workload

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// MaxRounds is how many guarded writes the generator asks for under one grant, at most.
const MaxRounds = 10

// Tenure is what a worker is to do with its next grant.
type Tenure struct {
	Open   bool          // announce the token before the first read
	Rounds int           // guarded writes
	Think  time.Duration // between a read and the guard
	Hold   time.Duration // kept idle before the last round, so that the client renews
	Idle   time.Duration // after the release
}

// Generator decides what a worker does next. Equal seeds give equal decisions.
type Generator struct {
	mode Mode
	ttl  time.Duration
	rand *rand.Rand
}

// Stream is the random stream of one worker in one cell: PCG, seeded with the
// campaign's seed and a hash of who draws.
func Stream(seed uint64, names ...string) *rand.Rand {
	h := fnv.New64a()
	for _, n := range names {
		h.Write([]byte(n))
		h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// NewGenerator returns the generator of one worker.
func NewGenerator(mode Mode, ttl time.Duration, r *rand.Rand) *Generator {
	return &Generator{mode, ttl, r}
}

// Next draws a tenure. In directed mode a grant is one guarded write and some
// milliseconds of rest, so that the histories stay small around the pauses; in
// random mode MaxRounds of them, as fast as they go, now and then fewer, and one
// grant in a hundred is kept for a while.
func (g *Generator) Next() Tenure {
	t := Tenure{Open: g.rand.IntN(4) == 0, Rounds: 1}
	if g.mode == Directed {
		t.Think = g.upTo(2 * time.Millisecond)
		t.Idle = 10*time.Millisecond + g.upTo(20*time.Millisecond)
		return t
	}
	t.Rounds = MaxRounds
	if g.rand.IntN(4) == 0 {
		t.Rounds = 1 + g.rand.IntN(MaxRounds)
	}
	t.Think = g.upTo(500 * time.Microsecond)
	if g.rand.IntN(100) == 0 {
		t.Hold = g.ttl/4 + g.upTo(g.ttl/2)
	}
	return t
}

func (g *Generator) upTo(d time.Duration) time.Duration {
	return time.Duration(g.rand.Int64N(int64(d) + 1))
}
