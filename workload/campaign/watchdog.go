package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/leasehold-checker/leasehold/nemesis"
	"github.com/leasehold-checker/leasehold/workload/child"
)

// RoleWatchdog is the role of the process that undoes what a campaign has done to
// the machine, should the campaign die (kill -9) before it did so itself.
const RoleWatchdog = "watchdog"

// UndoContainers is the kind of ledger entry that stands for all containers,
// networks and volumes of a campaign; its target is the campaign's id.
const UndoContainers = "containers"

const (
	fileLedger  = "ledger.jsonl"
	replayLimit = 2 * time.Minute
	replayTick  = 100 * time.Millisecond
)

type watchdogConfig struct {
	Ledger string `json:"ledger"`
}

type watchdogCommand struct {
	Done bool `json:"done"`
}

// Watchdog is the body of the watchdog's process. It waits until its parent says
// that all is undone, or until its parent is gone, and then replays the ledger.
func Watchdog(undos nemesis.Undos) child.Body {
	return func(_ context.Context, parent *child.Parent) error {
		signal.Ignore(syscall.SIGHUP, syscall.SIGINT) // the terminal may go with the parent
		var cfg watchdogConfig
		if err := parent.Config(&cfg); err != nil {
			return err
		}
		for raw := range parent.Commands() {
			var c watchdogCommand
			if json.Unmarshal(raw, &c) == nil && c.Done {
				return nil
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), replayLimit)
		defer cancel()
		for {
			err := nemesis.Replay(ctx, cfg.Ledger, undos)
			if !errors.Is(err, nemesis.ErrInUse) || ctx.Err() != nil {
				return err
			}
			time.Sleep(replayTick) // the parent is not quite dead yet
		}
	}
}

// safety is what stands between a campaign and what it leaves behind if it dies.
type safety struct {
	ledger   *nemesis.Ledger
	watchdog *child.Process
	id       int // the entry for the campaign's containers
}

// guard begins the ledger and starts the watchdog, before anything is created that
// could outlive this process.
func (r *run) guard(ctx context.Context) (*safety, error) {
	path := filepath.Join(r.dir.Path, fileLedger)
	ledger, err := nemesis.CreateLedger(path, r.env.StateDir)
	if err != nil {
		return nil, err
	}
	s := &safety{ledger: ledger}
	if s.id, err = ledger.Begin(UndoContainers, r.id()); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	s.watchdog, err = r.env.Starter.Start(ctx, child.Spec{
		Role: RoleWatchdog, Config: watchdogConfig{Ledger: path}, Log: filepath.Join(r.dir.Path, "watchdog.log"), Outlives: true,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start watchdog: %w", err), ledger.Undone(s.id), ledger.Close())
	}
	return s, nil
}

// close ends both. If not all was undone the ledger stays in the index, for
// leasehold clean.
func (s *safety) close(undone bool) error {
	if s == nil {
		return nil
	}
	var err error
	if undone {
		err = s.ledger.Undone(s.id)
	}
	err = errors.Join(err, s.watchdog.Send(watchdogCommand{Done: true}), s.ledger.Close())
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return errors.Join(err, s.watchdog.Close(ctx))
}
