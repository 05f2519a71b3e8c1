// Package simulate makes histories in memory, for tests and benchmarks of the
// checkers.
//
// [Honest] simulates a lock store, its clients and a guarded resource on a virtual
// clock, all of which do what they should, in a world that does not: answers get
// lost, requests land late, leases run out while their holder is stopped, workers
// are killed. Every history that comes out is legal, whatever it looks like, because
// it is what happened: there is an order of effects behind it. A checker that calls
// one invalid raises a false alarm.
//
// A [Lie] makes one of the parties dishonest, as a control: what the checkers are to
// find.
//
// [Campaign] makes large honest histories of plain shapes, fast, and [Plan.Plant]
// puts one violation into them.
//
// The package knows nothing of the checkers, so that nothing of theirs can leak into
// what they are tested with.
package simulate
