// Package workload is the worker: a process that takes leases from a real lock
// store and does lease-guarded writes on a protected resource, over and over, and
// writes down what it asked for and what it was told.
//
// One round of its critical section is: acquire, (open,) read, think, guard,
// write, read back, release. Between any two of these the nemesis can stop it;
// the places have names, histories.Points.
//
// A worker judges nothing. It stamps an invocation before it sends and an answer
// after it received it, and calls every answer that is not a clear yes or no
// "info".
package workload
