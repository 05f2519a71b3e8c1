package histories

// Type is what kind of event a line is. The names are Jepsen's.
type Type string

// The four types of event. An operation begins with Invoke; its outcome is one
// of the others.
const (
	Invoke Type = "invoke" // about to be sent
	OK     Type = "ok"     // happened
	Fail   Type = "fail"   // did not happen: a definite no
	Info   Type = "info"   // may have happened, now or at any later time
)

// F is the function of an operation: what was asked for.
type F string

// The functions of a worker. Acquire to Lost name a lock, Open to Write a resource.
const (
	Acquire F = "acquire"
	Renew   F = "renew"
	Release F = "release"
	Check   F = "check"
	Lost    F = "lost" // the client library told the worker that its lease is gone: an instant
	Open    F = "open"
	Read    F = "read"
	Write   F = "write"
)

// The functions of the nemesis. Any other word is allowed, too.
const (
	Pause       F = "pause"
	Resume      F = "resume"
	Kill        F = "kill"
	Restart     F = "restart"
	Partition   F = "partition"
	Heal        F = "heal"
	KillSession F = "kill-session" // ended the session of a lease at the store
	Note        F = "note"         // nothing was broken; Text says what should be known
)

// The functions of the store: how it was seen to end a lease. Any other word is
// allowed, too.
const (
	Expire F = "expire" // its ttl ran out
	Revoke F = "revoke" // ended on purpose: a steal, an operator, a closed session
)

// OnLock tells whether f is a worker's operation on a lock.
func (f F) OnLock() bool {
	switch f {
	case Acquire, Renew, Release, Check, Lost:
		return true
	}
	return false
}

// OnResource tells whether f is a worker's operation on a resource.
func (f F) OnResource() bool { return f == Open || f == Read || f == Write }

// The two processes that are no workers.
const (
	Nemesis = "nemesis" // breaks things
	Store   = "store"   // what the lock store itself was seen to do
)

// Fence is what the resource does with fencing tokens.
type Fence string

// The fence modes, from none to strict.
const (
	FenceOff    Fence = "off"    // tokens are ignored
	FenceWrites Fence = "writes" // a write whose token is lower than the highest seen is refused
	FenceAll    Fence = "all"    // reads and opens raise the highest token, and are refused, too
)

// Tokens says whether the lock issues fencing tokens.
type Tokens string

// The two kinds of lock.
const (
	TokensOrdered Tokens = "ordered"
	TokensNone    Tokens = "none"
)

// Point is a place in a worker's critical section at which the nemesis can stop it.
type Point string

// The code points, in the order in which a worker passes them.
const (
	PointLocked        Point = "locked"         // granted, token not yet drawn
	PointAcquired      Point = "acquired"       // the grant is on file
	PointRead          Point = "read"           // the value was read
	PointChecked       Point = "checked"        // the guard said yes; the write's invocation is not yet stamped
	PointBeforeWrite   Point = "before-write"   // the invocation is on file, no byte is sent
	PointSent          Point = "sent"           // the request is on its way: a control
	PointBeforeRenew   Point = "before-renew"   // about to renew, where the worker itself does
	PointBeforeRelease Point = "before-release" // done, about to release
)

// Points lists the code points in the order in which a worker passes them.
func Points() []Point {
	return []Point{PointLocked, PointAcquired, PointRead, PointChecked, PointBeforeWrite, PointSent, PointBeforeRenew, PointBeforeRelease}
}

// Error words with which an error text begins. Only Fenced matters to a verdict.
const (
	ErrHeld       = "held"       // somebody else has the lock
	ErrFenced     = "fenced"     // the resource refused the token
	ErrLost       = "lost"       // the lease had ended before
	ErrTimeout    = "timeout"    // no answer in time
	ErrCancelled  = "cancelled"  // given up by the one who asked
	ErrUnanswered = "unanswered" // the connection broke, or the answer said neither yes nor no
)

// Cause says why a violation happened, where that can be told.
type Cause string

// The causes.
const (
	CausePaused   Cause = "paused holder"
	CauseReleased Cause = "released by another"
	CauseRestart  Cause = "store restarted"
	CauseReset    Cause = "token reset"
	CauseClock    Cause = "clock"
	CauseUnknown  Cause = ""
)
