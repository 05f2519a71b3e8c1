// Package model holds the sequential specification of a lease-guarded resource
// and asks Porcupine whether a history keeps it.
//
// [Resolve] finds out which grant each operation belongs to and in which order
// the grants of a lock came. [Book.Resources] splits the history by resource.
// [Resource.Judge] asks Porcupine the questions of the two properties:
//
//   - stale-write: is there an order of the accepted operations, true to the
//     resource's own numbers, to real time and to the values read, that never
//     goes back to an older grant?
//   - lost-update: is there such an order in which no acknowledged write of
//     another worker lies between a write and the read on which it is based?
//
// A question is answered by a [Decision], with a proof: an order, or a few operations
// that are illegal by themselves. [Resource.Confirm] checks proofs, whoever found
// them. Three that may find one are here: Porcupine itself
// ([Resource.DecidePorcupine]), a just-in-time search for what is too much for it
// ([Resource.DecideJIT]), and the order that the resource's own numbers name
// ([Resource.DecideByNumber]).
//
// Beside them stand two plain scans, [Resource.StaleOperations] and
// [Resource.LostWrites]. They need no search, are easy to follow by hand, and
// find nearly everything that goes wrong in practice; they serve for counts and
// for witnesses. What they find, Porcupine must find illegal.
package model
