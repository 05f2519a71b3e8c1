package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of leasehold and of what it stands on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "leasehold %s\n", ownVersion())
			fmt.Fprintf(out, "go        %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
			fmt.Fprintf(out, "porcupine %s\n", moduleVersion("github.com/anishathalye/porcupine"))
			fmt.Fprintf(out, "etcd      %s\n", moduleVersion("go.etcd.io/etcd/server/v3"))
			return nil
		},
	}
}

// version is set by the Makefile, from git.
var version string

func ownVersion() string {
	if version != "" {
		return version
	}
	return "unreleased"
}

// moduleVersion is the version of a module that is linked in.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}
