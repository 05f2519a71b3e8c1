// Package monotonic reads the clock that all stamps of a history come from:
// CLOCK_MONOTONIC of the host, as clock_gettime gives it.
//
// Go's own monotonic reading will not do: it counts from the start of each
// process and is lost when a time is written down. CLOCK_MONOTONIC is shared by
// all processes and containers of a host, unless a time namespace shifts it,
// which [Namespace] tells.
package monotonic
