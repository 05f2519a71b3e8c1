//go:build unix

package checker_test

import (
	"syscall"
	"testing"
	"time"
)

// processor is the time that processors have spent on this program so far. Unlike time on
// the wall it says the same on a busy machine. (No other test of the package runs beside
// one that is not parallel.)
func processor(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
