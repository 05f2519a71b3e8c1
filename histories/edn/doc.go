// Package edn reads and writes the history.edn that Jepsen leaves behind, as far as
// it is one of locks and registers. It stands apart from package histories because
// it needs a library for EDN.
//
// An operation is a map with :type, :process, :f, :value, :time and :error; other
// keys are passed over, and so are tags before the map. Maps stand one after the
// other, or all in one vector. What they become:
//
//   - A process is a worker of that name. Jepsen retires a process after an :info
//     and goes on with another number: that is another worker, and whatever the
//     retired one held may end from then on, since its client is closed. This is
//     written as a release of its own without a definite answer.
//   - :acquire and :release are those of a lock that excludes, without a ttl.
//     (Nothing in a file tells a semaphore from a lock: it must not be read as
//     one.) The lock is the key of an independent tuple [lock x], or a value that
//     acquire and release have in common; otherwise there is one lock. Tokens are
//     issued if every acknowledged acquire brought one: an integer, or :fence or
//     :token in a map. 0 as :fence is Hazelcast's word for none.
//   - :read, :write and :cas are those of a register: the key of an independent
//     tuple [k v], or the only one. A value may be [version value], as in Jepsen's
//     tests of etcd; the version is not looked at.
//   - :cas [old new] becomes a read of old and a write of new. That is less than
//     was said: no other write may come between. So an order that fails has
//     certainly failed, while losses between the two are not judged.
//   - What a register held at first is not in the file. A value that was read and
//     never written must be it; without one, reads that may have come before
//     the first acknowledged write are left out.
//   - Registers beside a lock are guarded by it if every acknowledged write lies in
//     a hold of its own process; otherwise the file does not say what guards them,
//     and they are left out.
//   - The nemesis's operations are kept with their value as text. What Jepsen
//     pauses, kills or partitions are nodes of a database and never workers; that is
//     said as pause-nodes, kill-nodes, partition-nodes and so on.
//   - Without a :time on every operation, their positions stand for times.
//
// All that is left out or guessed is said in History.Warnings.
package edn
