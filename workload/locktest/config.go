package locktest

import (
	"context"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
)

// Config says what to test. Lock, and Endpoints or Start, have to be given.
type Config struct {
	Lock      string   // one of Main's Locks
	Endpoints []string // of the lock's own store
	// Start brings the store up instead, for this test alone. It should stop it by
	// t.Cleanup.
	Start func(ctx context.Context) (endpoints []string, err error)

	// Tokens says that the lock issues fencing tokens, larger for every later grant.
	Tokens bool
	TTL    time.Duration // that is asked for; 0: 2 s
	// Late is how long after the ttl has passed somebody else may have to wait for the
	// lock: the store's slack, a lock-delay, the time between two tries. 0: 500 ms. Too
	// little makes trials that show nothing, never a false alarm.
	Late time.Duration

	Guard  workload.Guard  // what the holder does before it writes; "": check
	Point  histories.Point // where it is stopped; "": after that check, before the write
	Expect Expect          // "": no violation, but in the control beside a fenced cell
	Trials int             // pauses in a cell; 0: 24
	Budget time.Duration   // time for all cells instead; 0: Trials decides
	Seed   int64           // of the plan; 0: LEASEHOLD_SEED, or drawn
	// Inconclusive lets a test pass that showed nothing. It says so in the log.
	Inconclusive bool
}

// Expect says what the cells are to show.
type Expect string

// The expectations.
const (
	Clean     Expect = "clean"     // no violation
	Violation Expect = "violation" // a stale write or a lost update by a paused holder, and nothing else
)

const (
	defaultTTL    = 2 * time.Second
	defaultLate   = 500 * time.Millisecond
	defaultTrials = 24
	shortTrials   = 8 // with -short
)
