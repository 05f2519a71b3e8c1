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
// The two properties of resources are questions to a sequential specification (package
// model), and several engines are asked in turn: plain scans, the resource's own
// numbers, an exact near-linear solver (package exact), a just-in-time search, and
// Porcupine. None is believed. A valid verdict stands on an order that was replayed
// through the specification, an invalid one on a few operations that Porcupine itself
// found illegal; a proof that does not hold is an error ([ErrCertificate]), never a
// verdict. Work and memory are bounded, and what lies beyond the bounds is unknown,
// with what stood in the way.
package checker
