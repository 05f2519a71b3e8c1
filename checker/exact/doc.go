// Package exact decides properties of grants in O(n log n) on histories of any
// length, without a search: [Exclusion], [TokenOrder], [LiveGrant], [Belief] and others.
//
// They go over the grants of each lock in their order, which the package model
// finds out, and read in one [Ledger] what was promised to each grant and what ended
// it. What a verdict rests on is a few operations, so every violation is a [Breach], a
// [TokenFault], a [DeadGrant] or the like that can be followed by hand; and [Plain],
// the rules word for word, says whether they are at fault by themselves.
//
// A [Solver] decides stale-write and lost-update of one resource: whether its
// operations have an order that keeps the rules. What must come before what is a
// graph with some n edges (see graph), and the answer follows from its strongly
// connected components; there is no search through orders. It brings a proof either
// way, an order or a few operations that have none, for others to check
// ([model.Resource.Confirm]).
//
// All times are CLOCK_MONOTONIC of one kernel; no clock error is allowed for.
package exact
