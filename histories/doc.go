// Package histories holds what a run of leasehold leaves behind: the operations
// of workers, nemesis and lock store on one time line, and the two notations in
// which they are kept.
//
// A [History] is a [Header] and a list of [Operation] values, sorted by
// invocation. An operation pairs an invocation with its answer: ok (it
// happened), fail (it did not) or info (it may have). Times are nanoseconds
// since the cell began, from the CLOCK_MONOTONIC of one host.
//
// The two notations carry the same: JSON Lines (history.jsonl, [DecodeJSONL] and
// [EncodeJSONL]) for programs, and the text notation (.hist, [ParseText] and
// [FormatText]) for people. [ReadFrom] and [ReadFile] take either, and what gzip
// made of it. A [Recorder] writes events while they happen; [Merge] joins the files
// of all processes. Package edn reads what Jepsen leaves behind, package zstd
// unpacks Zstandard.
//
// Whatever comes in is validated before anybody judges it: a search for a
// linearization gives silent wrong answers on histories that are not well
// formed (an answer without an invocation, times that run backwards). Files are not
// trusted: reading one ends in a history or in an error within the memory that
// [Limits] allow.
//
// The package knows no other package of leasehold and nothing but the standard
// library.
package histories
