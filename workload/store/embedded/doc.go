// Package embedded brings up lock stores that are Go libraries: the real server, in
// a child process of its own, without a container.
//
// It is the only package that imports a store's server.
package embedded
