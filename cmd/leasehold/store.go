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
	etcd.Flags().StringVar(&cfg.Name, "name", "", "name of this node")
	etcd.Flags().StringVar(&cfg.ListenClient, "listen-client", "", "host:port for clients (default a free one of the loopback address)")
	etcd.Flags().StringVar(&cfg.ListenPeer, "listen-peer", "", "host:port for its peers (default likewise)")
	etcd.Flags().StringVar(&cfg.Advertise, "advertise", "", "URL at which clients reach it")
	etcd.Flags().StringVar(&cfg.InitialCluster, "initial-cluster", "", "name=URL of each node, with commas between")
	etcd.Flags().BoolVar(&cfg.Joins, "join", false, "the cluster is there already, and expects this node")
	store.AddCommand(etcd, newStoreNATS())
	return store
}

func newStoreNATS() *cobra.Command {
	var cfg embedded.NATSConfig
	nats := &cobra.Command{
		Use:     "nats",
		Short:   "Run a real NATS server with JetStream in this process, until it is interrupted",
		Example: `  leasehold store nats --dir /tmp/nats`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := embedded.ServeNATS(cmd.Context(), cfg, func(endpoint string) {
				fmt.Fprintln(cmd.OutOrStdout(), endpoint)
			})
			if err != nil {
				return withCode(exitEnvironment, err)
			}
			return nil
		},
	}
	nats.Flags().StringVar(&cfg.Dir, "dir", "", "folder for its data")
	_ = nats.MarkFlagRequired("dir")
	_ = nats.MarkFlagDirname("dir")
	nats.Flags().StringVar(&cfg.Name, "name", "", "name of this node")
	nats.Flags().StringVar(&cfg.Listen, "listen", "", "host:port for clients (default a free one of the loopback address)")
	return nats
}
