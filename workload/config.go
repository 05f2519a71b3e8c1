package workload

import (
	"fmt"

	"github.com/leasehold-checker/leasehold/histories"
)

// RoleWorker is the role of a worker process (package child).
const RoleWorker = "worker"

// Guard is what the holder of a lease does before it acts.
type Guard string

// The guards, none of which helps: a pause fits between any of them and the act.
const (
	GuardNone  Guard = "none"  // nothing
	GuardCheck Guard = "check" // asks the client library: its clock, and what it was told
	GuardAsk   Guard = "ask"   // asks the lock store
)

// Guards lists them.
func Guards() []Guard { return []Guard{GuardNone, GuardCheck, GuardAsk} }

// Mode says who decides when a worker is stopped.
type Mode string

// The two modes.
const (
	Directed Mode = "directed" // choreography: one guarded write a grant, stopped at a code point
	Random   Mode = "random"   // many guarded writes a grant, stopped from outside at any time
)

// Config is what a worker process reads from its standard input.
type Config struct {
	Name     string `json:"name"` // in the history
	Cell     string `json:"cell"`
	History  string `json:"history"`  // the file that this process appends its events to
	OriginNS int64  `json:"originNs"` // CLOCK_MONOTONIC when the cell began
	// TimeNamespace is the parent's. A worker in another one refuses to start: its
	// stamps could not be compared.
	TimeNamespace string `json:"timeNamespace"`

	Lock      string   `json:"lock"`             // kind: "etcd-mutex"
	Driver    string   `json:"driver,omitempty"` // command of the driver that is the lock; Lock is then its name alone
	Endpoints []string `json:"endpoints"`
	Prefix    string   `json:"prefix"` // of every key, fresh for each cell
	LockName  string   `json:"lockName"`
	TTLMS     int64    `json:"ttlMs"` // asked for
	NoTTL     bool     `json:"noTtl"` // the lock's leases don't end by time: none is asked for

	Resource         string `json:"resource"` // kind: "register"
	ResourceEndpoint string `json:"resourceEndpoint"`
	ResourceName     string `json:"resourceName"`

	Guard  Guard  `json:"guard"`
	WorkUS int64  `json:"workUs"` // microseconds between guard and write
	Mode   Mode   `json:"mode"`
	Seed   uint64 `json:"seed"`

	// OpLimitMS bounds one operation on the resource or the store. It must be longer
	// than the longest pause: the timer runs on while the process is stopped, and a
	// limit that is due at once would turn an answer that lies ready into a timeout.
	OpLimitMS int64 `json:"opLimitMs"`
}

// Command is what the parent tells a worker.
type Command struct {
	Do    string          `json:"do"` // one of the Do constants
	Point histories.Point `json:"point,omitempty"`
}

// The commands.
const (
	DoArm    = "arm"    // stop yourself at the point, once
	DoDisarm = "disarm" // don't
	DoPark   = "park"   // wait at the point, lease and all, until DoGo; the client library goes on renewing
	DoGo     = "go"
	DoHalt   = "halt"   // stop what the lock keeps beside you (lock.Companion), before you are stopped from outside
	DoResume = "resume" // let it go on
	DoStop   = "stop"   // finish, release, and end
)

// Event is what a worker tells its parent. Events only wake the parent: what
// counts is in the history file.
type Event struct {
	What  string `json:"what"` // one of the Saw constants
	AtNS  int64  `json:"atNs"` // CLOCK_MONOTONIC
	Grant string `json:"grant,omitempty"`
	// Session is what the store ties the lease to, on SawStopping.
	Session string          `json:"session,omitempty"`
	Point   histories.Point `json:"point,omitempty"`
	Text    string          `json:"text,omitempty"`
}

// The events.
const (
	SawReady    = "ready"    // connected, about to begin
	SawGranted  = "granted"  // the grant is on file
	SawRead     = "read"     // the value was read under the grant
	SawWrote    = "wrote"    // a write of the grant was accepted
	SawRefused  = "refused"  // an operation of the grant was refused by the fence
	SawUnsure   = "unsure"   // an operation of the grant got no definite answer
	SawGaveUp   = "gave up"  // the guard said that the lease is gone
	SawStopping = "stopping" // about to stop itself at the point
	SawParked   = "parked"   // waits at the point
	SawReleased = "released" // done with the grant
	SawHalted   = "halted"   // what the lock keeps beside it is stopped
	SawDisarmed = "disarmed" // will not stop itself any more
	SawFailed   = "failed"   // cannot go on; Text says why
)

func (c *Config) validate() error {
	switch {
	case c.Name == "" || c.LockName == "" || c.ResourceName == "" || c.History == "":
		return fmt.Errorf("validate worker config: name, lockName, resourceName and history are needed")
	case c.TTLMS <= 0 || c.OpLimitMS <= 0:
		return fmt.Errorf("validate worker config: ttlMs and opLimitMs must be positive")
	case c.Guard != GuardNone && c.Guard != GuardCheck && c.Guard != GuardAsk:
		return fmt.Errorf("validate worker config: unknown guard %q", c.Guard)
	case c.Mode != Directed && c.Mode != Random:
		return fmt.Errorf("validate worker config: unknown mode %q", c.Mode)
	}
	return nil
}
