// Package campaign plans a set of cells, runs them, has their histories judged,
// and leaves a run directory.
//
// A cell is one combination of lock, resource, guard, fence and fault. For each,
// the campaign starts a resource and N worker processes for each of many lock
// names, lets the nemesis loose on them, heals everything, collects what the
// processes wrote down, and asks the checker. What it knows of a history it takes
// from the checker: its own events only wake it.
//
// Which locks, resources and stores there are it is told, by a [Catalog].
package campaign
