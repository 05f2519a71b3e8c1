package checker

// Property is one thing that a history is judged on.
type Property string

// The properties that this version judges. A property that is not in a Result
// was not judged, which is not the same as valid.
const (
	// StaleWrite: in the order in which the resource took them, accepted
	// operations never go back to an older grant.
	StaleWrite Property = "stale-write"
	// LostUpdate: no acknowledged read-modify-write is overwritten unseen.
	LostUpdate Property = "lost-update"
	// Exclusion: nobody is granted the lock, or has it renewed, while the store's
	// last promise to another worker still stands.
	Exclusion Property = "exclusion"
	// TokenOrder: tokens grow from grant to grant; one token, one holder. It is not
	// in the Result of a lock that issues none.
	TokenOrder Property = "token-order"
	// OverFencing: the current holder is never refused.
	OverFencing Property = "over-fencing"
	// Hold: a guarded operation happens inside a hold of that worker, under that
	// hold's own token, on a decision taken in it.
	Hold Property = "hold"
	// LiveGrant: no acquire, and no renewal, is answered ok for a lease that has
	// already ended.
	LiveGrant Property = "live-grant"
	// Belief: the client told the worker the truth about holding or having lost.
	Belief Property = "belief"
	// Progress: with a waiting worker and no live holder somebody is granted the lock
	// within a bound.
	Progress Property = "progress"
)

// Verdict is the answer for one property or one history.
type Verdict string

// The verdicts. Invalid is worse than Unknown, Unknown is worse than Valid.
const (
	Valid   Verdict = "valid"
	Invalid Verdict = "invalid"
	Unknown Verdict = "unknown"
)

// Worst returns the worse of two verdicts; "" counts as Valid.
func Worst(a, b Verdict) Verdict {
	switch {
	case a == Invalid || b == Invalid:
		return Invalid
	case a == Unknown || b == Unknown:
		return Unknown
	}
	return Valid
}

// Role says whether a property decides the verdict of the history.
type Role string

// The two roles.
const (
	Gate   Role = "gate"   // counts
	Report Role = "report" // is told, and decides nothing
)

// role is what a property is for by default. A live-grant of which only stopped workers
// are guilty is a report, too.
func (p Property) role() Role {
	if p == Belief || p == Progress {
		return Report
	}
	return Gate
}
