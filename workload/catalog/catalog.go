//go:build linux

// Package catalog is the explicit list of what leasehold can drive: the locks, the
// resources and the stores. Nothing registers itself; what is not in these tables
// does not exist.
package catalog

import "github.com/leasehold-checker/leasehold/workload/campaign"

// All is the whole catalog.
func All() campaign.Catalog {
	return campaign.Catalog{Locks: locks(), Resources: resources(), Stores: stores()}
}
