// Package checker judges a history of leases and lease-guarded operations.
//
// [Check] takes a history and answers for each [Property] that it knows with a
// [Verdict], the number of cases that it could judge, and witnesses: the
// smallest sub-histories that still fail, told in sentences. Coverage (what the
// nemesis did, and what came of it) is computed from the history as well, never
// taken from the word of the program that recorded it.
//
// A verdict is valid, invalid or unknown. What the history can't decide is
// unknown, and a property without a case to judge is no evidence: the checker
// says so and never calls such a history clean.
//
// The sequential specifications are in the package model, where Porcupine
// decides them.
package checker
