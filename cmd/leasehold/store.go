//go:build linux

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

// newStore is hidden: it is for containers that hold nothing but this executable,
// and for looking at a store by hand.
func newStore() *cobra.Command {
	store := &cobra.Command{Use: "store", Short: "Run a lock store in this process", Hidden: true}
	var cfg embedded.EtcdConfig
	etcd := &cobra.Command{
		Use:     "etcd",
		Short:   "Run a real etcd in this process, until it is interrupted",
		Example: `  leasehold store etcd --dir /tmp/etcd`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := embedded.ServeEtcd(cmd.Context(), cfg, func(endpoint string) {
				fmt.Fprintln(cmd.OutOrStdout(), endpoint)
			})
			if err != nil {
				return withCode(exitEnvironment, err)
			}
			return nil
		},
	}
	etcd.Flags().StringVar(&cfg.Dir, "dir", "", "folder for its data")
	_ = etcd.MarkFlagRequired("dir")
	_ = etcd.MarkFlagDirname("dir")
	store.AddCommand(etcd)
	return store
}
