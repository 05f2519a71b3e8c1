package simulate

// Lie is a fault of one of the parties: what a checker is to find. The value is the
// property that it breaks.
type Lie string

// The lies.
const (
	GrantsTwice        Lie = "exclusion"    // the store forgets a lease that stands
	RepeatsTokens      Lie = "token-order"  // the store issues a token again, or a smaller one
	ForgetsFence       Lie = "stale-write"  // the resource accepts what it should refuse
	DropsWrites        Lie = "lost-update"  // the resource acknowledges a write and forgets it
	RefusesHolder      Lie = "over-fencing" // the resource refuses the one who holds the lock
	WritesAfterRelease Lie = "hold"         // a worker writes under a grant that it has released
	TakesDeadGrants    Lie = "live-grant"   // a client takes a lease for granted that is over
	NeverFrees         Lie = "progress"     // the store does not grant a free lock
)

// Lies lists them all.
func Lies() []Lie {
	return []Lie{GrantsTwice, RepeatsTokens, ForgetsFence, DropsWrites, RefusesHolder, WritesAfterRelease, TakesDeadGrants, NeverFrees}
}

// tells decides whether it is time for the lie.
func (w *world) tells(l Lie) bool { return w.lie == l && w.chance(0.5) }
