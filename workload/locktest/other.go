//go:build !linux

package locktest

import (
	"os"
	"testing"
)

// Main runs the tests.
func Main(m *testing.M, _ Locks) { os.Exit(m.Run()) }

// Run skips: only Linux has what it takes to stop processes exactly.
func Run(t *testing.T, _ Config) {
	t.Helper()
	t.Skip("locktest needs Linux")
}
