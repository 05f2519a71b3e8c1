package campaign

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/store"
)

// Expect says what a cell should show.
type Expect string

// The expectations.
const (
	ExpectUnset     Expect = ""          // clean, but for an off cell beside a fenced one, which is its control
	ExpectClean     Expect = "clean"     // no violation
	ExpectViolation Expect = "violation" // a stale write or a lost update by a paused holder, and nothing else
	ExpectAny       Expect = "any"       // whatever comes
)

// Until is what the nemesis waits for while it holds a worker stopped in directed mode.
type Until string

// The conditions. At UntilGranted and UntilRead the successor is parked while the
// old holder goes on.
const (
	UntilGranted Until = "granted" // the successor was granted the lock
	UntilRead    Until = "read"    // it has read, and not yet written
	UntilWritten Until = "written" // its first write was accepted
)

// TokenCounter is the one kind of token that a lock without any can be given: a number
// that is drawn in a second step, after the lock was granted. It is known to be bad,
// and there to be looked at: a holder that is stopped between the two draws a larger
// number than its successor.
const TokenCounter = "counter"

// The faults.
const (
	FaultPause = "pause"
	FaultNoop  = "noop"
	// FaultSessionKill stops the holder as FaultPause does, and ends its session at the
	// store: for locks whose leases never end by time.
	FaultSessionKill = "session-kill"
)

// Config is a campaign as the user asks for it.
type Config struct {
	Version int    `json:"version" yaml:"version"` // of the file's form: ConfigVersion
	Name    string `json:"name" yaml:"name"`
	Seed    int64  `json:"seed" yaml:"seed"`
	Out     string `json:"out" yaml:"out"` // folder of the run directories
	// FailFast ends the campaign at the first violation that was not expected, within
	// the cell if it is seen while the cell runs.
	FailFast bool `json:"fail_fast,omitempty" yaml:"fail_fast,omitempty"`
	// Budget is the time for the trials of all cells together, 0: none. With one, a cell
	// plays as many trials as fit into its share.
	Budget time.Duration `json:"budget,omitempty" yaml:"budget,omitempty"`
	// Inconclusive says what an inconclusive campaign is: InconclusiveFail or InconclusiveWarn.
	Inconclusive string `json:"inconclusive,omitempty" yaml:"inconclusive,omitempty"`

	Provision store.Provision   `json:"provision,omitempty" yaml:"provision,omitempty"` // "": the preferred one
	Images    map[string]string `json:"images,omitempty" yaml:"images,omitempty"`       // store -> image, for containers
	Endpoints []string          `json:"endpoints,omitempty" yaml:"endpoints,omitempty"` // of the one store, if it is external

	// Settings are those of the only block of cells, or what all blocks have in common.
	Settings `yaml:",inline"`
	// Cells are blocks of cells, each with settings of its own; empty: there is one.
	Cells []Settings `json:"cells,omitempty" yaml:"cells,omitempty"`
}

// Settings are those of a block of cells: several locks, resources, guards, fences
// and points multiply out.
type Settings struct {
	Locks     []string          `json:"locks" yaml:"locks"`
	Resources []string          `json:"resources" yaml:"resources"`
	Pairs     []string          `json:"pairs,omitempty" yaml:"pairs,omitempty"` // lock/resource, beside the product of Locks and Resources
	Guards    []workload.Guard  `json:"guards" yaml:"guards"`
	Fences    []histories.Fence `json:"fences" yaml:"fences"`
	Points    []histories.Point `json:"points" yaml:"points"` // directed mode
	Fault     string            `json:"fault" yaml:"fault"`
	Mode      workload.Mode     `json:"mode" yaml:"mode"`
	Until     Until             `json:"until" yaml:"until"` // directed mode
	Pause     time.Duration     `json:"pause" yaml:"pause"` // least length of a pause; 0: what the lease needs
	TTL       time.Duration     `json:"ttl" yaml:"ttl"`
	Work      time.Duration     `json:"work" yaml:"work"` // between guard and write
	TimeLimit time.Duration     `json:"time_limit" yaml:"time_limit"`
	Trials    int               `json:"trials" yaml:"trials"`         // pauses in a cell, directed mode
	LockNames int               `json:"lock_names" yaml:"lock_names"` // side by side
	Workers   int               `json:"workers" yaml:"workers"`       // for each lock name
	Expect    Expect            `json:"expect" yaml:"expect"`
	NoControl bool              `json:"no_control" yaml:"no_control"`
	Token     string            `json:"token,omitempty" yaml:"token,omitempty"` // "" or TokenCounter
	// Driver is the command of a driver, a lock in any language: it is the one lock of the
	// block. DriverStore is the store that it gets; "": the one that it asks for.
	Driver      string `json:"driver,omitempty" yaml:"driver,omitempty"`
	DriverStore string `json:"driver_store,omitempty" yaml:"driver_store,omitempty"`
	Floors      Floors `json:"floors,omitzero" yaml:"floors,omitempty"`
}

// Floors are the least that a cell must have done to count.
type Floors struct {
	// Conclusive trials; nil: half of the trials asked for, at most 20, and one at random.
	Conclusive    *int                `json:"conclusive,omitempty" yaml:"conclusive,omitempty"`
	StaleAttempts int                 `json:"stale_attempts,omitempty" yaml:"stale_attempts,omitempty"` // writes of an older grant that reached the resource
	Operations    map[histories.F]int `json:"operations,omitempty" yaml:"operations,omitempty"`         // answered ok
}

// ConfigVersion is the version of the form of a campaign file. It grows when a key
// changes its meaning.
const ConfigVersion = 1

// What an inconclusive campaign is.
const (
	InconclusiveFail = "fail" // it fails, with an exit code of its own; the default
	InconclusiveWarn = "warn" // it passes, and says loudly that it shows nothing
)

// Default is the campaign that the demo runs, but for its fences.
func Default() Config {
	return Config{
		Version: ConfigVersion,
		Name:    "run",
		Out:     "runs",
		Settings: Settings{
			Locks:     []string{"etcd-mutex"},
			Resources: []string{"register"},
			Guards:    []workload.Guard{workload.GuardCheck},
			Fences:    []histories.Fence{histories.FenceOff},
			Points:    []histories.Point{histories.PointChecked},
			Fault:     FaultPause,
			Mode:      workload.Directed,
			Until:     UntilWritten,
			TTL:       2 * time.Second,
			TimeLimit: 30 * time.Second,
			Trials:    24,
			LockNames: 12,
			Workers:   2,
		},
	}
}

// UsageError is a mistake in what was asked for: nothing was started.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// IsUsage tells whether err is a UsageError.
func IsUsage(err error) bool {
	var u *UsageError
	return errors.As(err, &u)
}

func oneOf[T ~string](flag string, value T, allowed ...T) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef("--%s %q: it is one of %v", flag, value, allowed)
}

// check validates what needs no catalog.
func (c *Config) check() error {
	errs := []error{
		oneOf("provision", c.Provision, append(store.Provisions(), "")...),
		oneOf("inconclusive", c.Inconclusive, "", InconclusiveFail, InconclusiveWarn),
	}
	switch {
	case c.Version != ConfigVersion:
		errs = append(errs, usagef("version %d: this leasehold reads version %d", c.Version, ConfigVersion))
	case c.Provision == store.External && len(c.Endpoints) == 0:
		errs = append(errs, usagef("--provision external: --endpoint says where the store is"))
	case c.Budget < 0 || c.Budget > 0 && c.Budget < 5*time.Second:
		errs = append(errs, usagef("--budget %s: at least 5s", c.Budget))
	}
	return first(errs)
}

// check validates what needs no catalog.
func (c *Settings) check() error {
	errs := []error{
		oneOf("fault", c.Fault, FaultPause, FaultNoop, FaultSessionKill),
		oneOf("mode", c.Mode, workload.Directed, workload.Random),
		oneOf("until", c.Until, UntilGranted, UntilRead, UntilWritten),
		oneOf("expect", c.Expect, ExpectUnset, ExpectClean, ExpectViolation, ExpectAny),
	}
	for _, g := range c.Guards {
		errs = append(errs, oneOf("guard", g, workload.Guards()...))
	}
	for _, f := range c.Fences {
		errs = append(errs, oneOf("fence", f, histories.FenceOff, histories.FenceWrites, histories.FenceAll))
	}
	for _, p := range c.Points {
		errs = append(errs, oneOf("point", p, histories.Points()...))
	}
	for f, n := range c.Floors.Operations {
		errs = append(errs, oneOf("floors: operations", f, flooredOperations...))
		if n < 0 {
			errs = append(errs, usagef("floors: operations: %s: %d is negative", f, n))
		}
	}
	if c.Token != "" && c.Token != TokenCounter {
		errs = append(errs, usagef("--token %q: there is only %q", c.Token, TokenCounter))
	}
	return first(append(errs, c.checkNumbers()))
}

// flooredOperations are those of which a cell can be asked for a number.
var flooredOperations = []histories.F{
	histories.Acquire, histories.Renew, histories.Release, histories.Check, histories.Open, histories.Read, histories.Write,
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Settings) checkNumbers() error {
	switch {
	case len(c.Locks)+len(c.Pairs) == 0 || len(c.Locks) > 0 && len(c.Resources) == 0 || len(c.Guards) == 0 || len(c.Fences) == 0 || len(c.Points) == 0:
		return usagef("no cell: each of --lock, --resource, --guard, --fence and --point needs a value")
	case c.Workers < 2 || c.Workers > 64:
		return usagef("--workers %d: a lock name needs 2 to 64 workers, one to be stopped and one to take over", c.Workers)
	case c.LockNames < 1 || c.LockNames > 256:
		return usagef("--locks %d: 1 to 256 lock names side by side", c.LockNames)
	case c.Trials < 1:
		return usagef("--trials %d: at least 1", c.Trials)
	case c.TTL < time.Millisecond:
		return usagef("--ttl %s: at least 1ms", c.TTL)
	case c.Work < 0 || c.Pause < 0:
		return usagef("--work and --pause can't be negative")
	case c.TimeLimit < time.Second:
		return usagef("--time-limit %s: at least 1s", c.TimeLimit)
	case c.Floors.StaleAttempts < 0 || c.Floors.Conclusive != nil && *c.Floors.Conclusive < 0:
		return usagef("floors can't be negative")
	}
	return nil
}
