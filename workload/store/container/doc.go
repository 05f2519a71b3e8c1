// Package container brings up lock stores in containers: the real servers, of the
// user's choice of version, in the topologies in which locks are run, with a handle on
// every node through which it can be stopped, frozen, killed, restarted and cut off.
//
// It is the only package that imports testcontainers-go, and that only makes the
// containers: what is done to them afterwards goes through the Docker API, for which
// that library has no words (pause, kill, disconnect).
//
// All that it makes carries the labels leasehold=1 and leasehold.campaign=ID, by which
// Clean finds what a killed tool has left behind.
package container
