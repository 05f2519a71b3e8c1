//go:build !linux

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// platformCommands is empty: campaigns stop processes by means that only Linux has.
// Histories can be judged anywhere.
func platformCommands() []*cobra.Command { return nil }

func serve(role string) int {
	fmt.Fprintf(os.Stderr, "leasehold: role %q needs Linux\n", role)
	return exitUsage
}

// childRole is "": nobody starts children here.
func childRole() string { return "" }
