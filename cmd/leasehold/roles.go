//go:build linux

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/driver"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

// serve is the whole of a child process: the executable runs itself as each of its
// workers, stores and resources.
func serve(role string) int {
	roles := map[string]child.Body{
		workload.RoleWorker: func(ctx context.Context, p *child.Parent) error {
			r := catalog.All().Registry()
			r.Driver = driver.Connect
			return workload.Main(ctx, p, r)
		},
		driver.Role:           driver.Keep,
		embedded.EtcdRole:     embedded.EtcdChild,
		embedded.NATSRole:     embedded.NATSChild,
		register.Role:         register.ServeChild,
		campaign.RoleWatchdog: campaign.Watchdog(undos()),
	}
	body, ok := roles[role]
	if !ok {
		fmt.Fprintf(os.Stderr, "leasehold: unknown role %q in %s\n", role, child.RoleVar)
		return exitUsage
	}
	if err := child.Serve(body); err != nil {
		fmt.Fprintf(os.Stderr, "leasehold %s: %v\n", role, err)
		return exitEnvironment
	}
	return exitOK
}

// childRole is the role in which this process was started, "" if it is no child.
func childRole() string { return child.Role() }

// platformCommands are the commands that only Linux has.
func platformCommands() []*cobra.Command {
	return []*cobra.Command{newRun(), newInit(), newDriver(), newConfig(), newSchema(), newCard(), newHonest(), newStore(), newStores(), newLocks(), newDoctor(), newClean()}
}
