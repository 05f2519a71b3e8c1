package lock

// Keyed is a [Lease] that hangs on a key of its store: the key exists exactly as
// long as the lease, and a resource in the same store can require it. With the key
// the token is the key's create revision.
type Keyed interface {
	// Key is the whole key, prefix included, also after the end of the lease.
	Key() string
}
