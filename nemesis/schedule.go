package nemesis

import (
	"math/rand/v2"
	"time"
)

// Schedule says when a random nemesis strikes, whom, and for how long. Equal
// seeds give equal schedules; what a strike hits is the machine's matter.
type Schedule struct {
	Targets int           // how many there are to choose from; at least 1
	Gap     time.Duration // mean time between the end of a fault and the next
	Least   time.Duration // a fault lasts at least so long,
	Spread  time.Duration // and up to so much longer
	Rand    *rand.Rand
}

// Strike is one fault to come.
type Strike struct {
	After  time.Duration // wait so long after the last one ended
	Target int           // 0 to Targets-1
	Length time.Duration
}

// Next draws a strike. Gaps are exponential, but bounded by three times the mean,
// so that a run of a given length never stays without a fault.
func (s *Schedule) Next() Strike {
	gap := time.Duration(s.Rand.ExpFloat64() * float64(s.Gap))
	return Strike{
		After:  min(gap, 3*s.Gap),
		Target: s.Rand.IntN(s.Targets),
		Length: s.Least + time.Duration(s.Rand.Int64N(int64(s.Spread)+1)),
	}
}
