package histories

import "math"

// Never is the Return of an operation that was not answered while the history
// was recorded.
const Never = int64(math.MaxInt64)

// Operation is one thing that a worker, the nemesis or the store did: an
// invocation and its answer. Empty strings and absent options mean "not said".
type Operation struct {
	Process string // the worker's name, or Nemesis, or Store
	ID      int64  // unique within the process: pairs invocation and answer
	F       F
	Type    Type  // OK, Fail or Info
	Invoke  int64 // ns since the cell began, stamped before the request was sent
	Return  int64 // ns, stamped after the answer was received; Never without an answer
	Line    int   // line of the invocation in its source, from 1; 0 if made in memory

	// Operations on a lock.
	Lock      string // also on operations on a resource, where it is not the guard of the header
	Grant     string // id of the worker's own grant, such as "3.7"; if empty, its newest on that lock
	GrantLate bool   // an acquire whose grant was named by the answer, not by the invocation
	Mode      string // "" (exclusive) or "shared"
	Session   string // two workers with one session cannot be told apart by the store
	TTLAsked  int64  // ms asked for; 0: none
	TTL       int64  // ms that the store returned or negotiated (ok only); 0: none said
	Held      Option[bool]
	HoldsLeft Option[int64] // holds that the worker has on the lock after the operation (re-entry)
	Token     Option[int64] // acquire: granted, with the answer; on a resource: sent, with the invocation
	Resource  string
	Value     Option[string] // write: with the invocation; read: with the answer
	Under     string         // grant under which the written value was decided; if empty, Grant
	Seq       Option[int64]  // the resource's own commit number, on ok and fail
	Error     string         // on fail and info: a word (ErrFenced, ...), then free text
	Target    string         // nemesis and store: the worker or node
	Point     Point          // nemesis: the code point
	Text      string         // nemesis and store: free text
}

// Answered tells whether the operation has a definite answer: ok or fail.
func (o *Operation) Answered() bool { return o.Type == OK || o.Type == Fail }

// Instant tells whether the operation was invoked and answered at one time.
func (o *Operation) Instant() bool { return o.Invoke == o.Return }

// ByWorker tells whether a worker did it, and neither the nemesis nor the store.
func (o *Operation) ByWorker() bool { return o.Process != Nemesis && o.Process != Store }

// Fenced tells whether the resource refused the operation because of its token.
func (o *Operation) Fenced() bool { return o.Type == Fail && o.Reason() == ErrFenced }

// Reason is the first word of Error, the only one that counts.
func (o *Operation) Reason() string {
	for i, r := range o.Error {
		if r == ' ' || r == '\t' || r == ':' {
			return o.Error[:i]
		}
	}
	return o.Error
}

// EffectiveTTL is what the store granted, else what was asked for, in ms; 0: none.
func (o *Operation) EffectiveTTL() int64 {
	if o.TTL > 0 {
		return o.TTL
	}
	return o.TTLAsked
}

// Header says what a history is about. Cell, Seed and Versions only name a run;
// the text notation leaves them out.
type Header struct {
	Fence    Fence             // what the resource does; FenceOff if not said
	Tokens   Tokens            // whether the lock issues tokens; TokensOrdered if not said
	Guards   []Guard           // empty: the only lock guards every resource
	Initial  map[string]string // value of a resource before the first line; "" if not said
	From     []string          // where the history comes from
	Expect   map[string]string // property -> verdict; for tests
	Needs    []string          // features beyond the core: reentrancy, shared, liveness
	End      Option[int64]     // ns: nothing was seen after this
	Cell     string            // lock/resource/guard/fence/fault
	Seed     Option[int64]
	Versions map[string]string // what -> version
}

// History is a header and operations, sorted by invocation; equal invocations
// keep their order in the source, which for one process is the order in which it
// did them.
type History struct {
	Header   Header
	Ops      []Operation
	Source   string   // file name, for messages
	Warnings []string // what was dropped on reading, such as a torn last line
}
