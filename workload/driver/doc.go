// Package driver puts locks in any language under leasehold: a program of the user's
// takes and gives back the lock, and is told what to do in lines of JSON on its standard
// input. PROTOCOL.md is all that its author has to read.
//
// The program handles the lock alone. The worker process beside it does the guarded
// reads and writes and keeps the history; a pause stops both.
//
// Between a worker and its driver stands a keeper, a process of ours: it starts the
// driver as the leader of a process group, passes lines on, stops and continues the
// group, and kills it when the worker is gone, for whatever reason. So nothing of the
// driver outlives the tool, not even by kill -9.
package driver

// Version is the version of the protocol.
const Version = 1

// MaxLine is the longest line of the protocol, in bytes, line feed not counted.
const MaxLine = 64 << 10
