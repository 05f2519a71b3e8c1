package simulate

import (
	"math/rand/v2"

	"github.com/leasehold-checker/leasehold/histories"
)

// Setting says what may happen in a small history. All times are ns but where a
// name says otherwise; shares lie between 0 and 1.
type Setting struct {
	Workers    int
	Bystanders int // they never take a lock, only read
	Locks      int
	Resources  int   // of each lock
	Steps      int   // operations of each worker, beside its renewals
	Grid       int64 // between two ticks of the clients' clock

	Fence    histories.Fence
	AskStore bool // the fence asks the store who holds the lock, instead of comparing tokens
	Tokens   Tokens
	Numbers  Numbers
	Names    Names

	TTL        []int64 // ms, from which an acquire chooses; {0}: a lock is held until it is released
	Negotiates bool    // the store grants another ttl than was asked for
	Sessions   bool    // a lease begins when it is asked for, and has to be kept alive while its client waits
	Reentrant  bool
	Raises     bool    // re-entry gets a larger token, and the worker uses that one
	ReleaseAll bool    // one release ends all holds of its worker, instead of one
	Explicit   bool    // operations on a resource name the lock; the header does not
	Blocking   float64 // share of acquires that wait
	LateExpiry float64 // by how much of its ttl a lease may outlive it
	LockDelay  int64   // between the end of a lease that was not released and the next grant

	Unknown float64 // share of operations without an answer
	Slow    float64 // share of messages that take long
	Renews  float64 // share of grants that are kept alive
	Careful float64 // share of losses after which a worker stops acting under its grant
	Opens   float64 // share of operations on a resource that open it
	Checks  float64 // share of steps in which a worker asks whether it holds the lock
	Repeats float64 // share of writes of a value that was written before

	Revokes, SessionKills, Pauses, Kills int
	EarlyLost                            float64 // share of renewals without a yes after which the client gives up, though its lease stands
	DeadGrants                           float64 // share of acquires answered during a pause that are taken for granted although the lease is over

	Observed float64 // share of expiries that an observer sees
	Blurred  float64 // share of lines of which only an interval is known
	Cut      bool    // the record ends before the world does
}

// Tokens says which fencing tokens a lock issues.
type Tokens int

// The kinds of tokens.
const (
	NoTokens Tokens = iota
	Counter         // 1, 2, 3
	Revision        // of the whole store: with gaps, shared by all locks
	Negative        // from some number below 0
)

// Numbers says which operations a resource numbers.
type Numbers int

// The kinds of numbers.
const (
	NoNumbers Numbers = iota
	EveryOperation
	WritesOnly
	EveryState // reads, opens and refusals have the number of the write before
	SomeNumbers
)

// Names says where a grant gets its name.
type Names int

// The ways to name grants.
const (
	Unnamed Names = iota
	NamedWhenAsked
	NamedByAnswer
)

// Any draws a setting.
func Any(r *rand.Rand) Setting {
	s := Setting{
		Workers: 2 + r.IntN(3), Bystanders: pick(r, 0, 0, 1), Locks: pick(r, 1, 1, 1, 2), Resources: pick(r, 1, 1, 1, 2),
		Steps: 4 + r.IntN(10), Grid: pick(r, 1, ms/10, ms, 2*ms),
		Fence:   pick(r, histories.FenceOff, histories.FenceWrites, histories.FenceAll),
		Tokens:  pick(r, NoTokens, Counter, Counter, Revision, Negative),
		Numbers: pick(r, NoNumbers, NoNumbers, EveryOperation, WritesOnly, EveryState, SomeNumbers),
		Names:   pick(r, Unnamed, NamedWhenAsked, NamedByAnswer),
		TTL:     pick(r, []int64{0}, []int64{20}, []int64{15, 40}, []int64{100}), Negotiates: r.IntN(4) == 0,
		Sessions: r.IntN(3) == 0, Reentrant: r.IntN(3) == 0, Raises: r.IntN(3) == 0, ReleaseAll: r.IntN(3) == 0,
		Explicit: r.IntN(4) == 0,
		Blocking: pick(r, 0.0, 0.7, 1), LateExpiry: pick(r, 0, 0.05, 0.4), LockDelay: pick(r, 0, 0, 5*ms),
		Unknown: pick(r, 0, 0.05, 0.25), Slow: pick(r, 0, 0.05, 0.2), Renews: pick(r, 0.0, 0.6, 1),
		Careful: pick(r, 0, 0.7, 1), Opens: pick(r, 0, 0.2), Checks: pick(r, 0, 0.15), Repeats: pick(r, 0, 0, 0, 0.1),
		Revokes: pick(r, 0, 0, 1, 2), SessionKills: pick(r, 0, 0, 0, 1), Pauses: pick(r, 0, 1, 2), Kills: pick(r, 0, 0, 0, 1, 2),
		EarlyLost: pick(r, 0, 0, 0, 0.5), DeadGrants: pick(r, 0, 0.5),
		Observed: pick(r, 0, 0.5, 1), Blurred: pick(r, 0, 0, 0.5), Cut: r.IntN(4) == 0,
	}
	return s.sane()
}

// sane takes out what does not go together.
func (s Setting) sane() Setting {
	if s.TTL[0] == 0 {
		s.Sessions, s.Negotiates, s.Renews = false, false, 0
	}
	if s.Sessions { // a client has to say which of its leases it keeps alive
		s.Names = NamedWhenAsked
	}
	if s.Raises { // a worker that went back to the older token would fence itself off
		s.ReleaseAll = true
	}
	if s.Tokens == NoTokens {
		s.AskStore = true
	}
	return s
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
