// Package exact decides properties of grants in O(n log n) on histories of any
// length, without a search: [Exclusion] and [TokenOrder].
//
// Both go over the grants of each lock in their order, which the package model
// finds out. What a verdict rests on is a pair of grants, so every violation is a
// [Breach] or a [TokenFault] that can be followed by hand.
//
// All times are CLOCK_MONOTONIC of one kernel; no clock error is allowed for.
package exact
