// Package child starts, speaks with, stops and reaps child processes.
//
// A child is the running executable itself, with its role in the environment
// variable [RoleVar]; main asks [Role] first thing and hands over to [Serve]. The
// child reads one JSON config from standard input, commands from file descriptor 3
// (JSON lines; end of file means stop) and tells events on file descriptor 4 (JSON
// lines). Standard output and standard error go to a log file.
//
// Nothing is left behind: every child has a process group of its own and is killed
// by the kernel when its parent dies, stopped or not, however the parent died
// (Pdeathsig). Signals go through the handle that came with the start (a pidfd),
// never through a number, so that no stranger can be hit.
//
// The package needs Linux.
package child
