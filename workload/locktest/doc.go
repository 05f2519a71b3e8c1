// Package locktest puts any Go lock under leasehold with go test alone: the test
// binary runs itself as the worker processes that take the lock, stops them, and has
// what happened judged.
//
//	func TestMain(m *testing.M) { locktest.Main(m, locktest.Locks{"mine": newLock}) }
//
//	func TestLock(t *testing.T) {
//		locktest.Run(t, locktest.Config{Lock: "mine", Endpoints: []string{"127.0.0.1:6379"}, Tokens: true})
//	}
//
// A lock that issues fencing tokens runs twice: against a resource that does not look
// at them, where a stale write must get through (or the test has shown nothing), and
// against one that does, where none may. A lock without tokens runs against the
// former alone, and fails: whatever its holders check, a pause fits behind it. Config
// has an expectation for those who know that and want the rest of it tested.
//
// It needs Linux; elsewhere Run skips.
package locktest
