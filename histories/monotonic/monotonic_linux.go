package monotonic

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Now is CLOCK_MONOTONIC in nanoseconds. It panics where the kernel has no such
// clock, which no Linux has.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("read CLOCK_MONOTONIC: " + err.Error())
	}
	return ts.Nano()
}

// Namespace identifies the time namespace of this process, with its offsets. Two
// processes whose answers differ must not compare their stamps: a namespace
// shifts CLOCK_MONOTONIC by any amount (time_namespaces(7)). It is "" on kernels
// without time namespaces.
func Namespace() (string, error) {
	link, err := os.Readlink("/proc/self/ns/time")
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read time namespace: %w", err)
	}
	offsets, err := os.ReadFile("/proc/self/timens_offsets")
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("read time namespace offsets: %w", err)
	}
	return link + " " + strings.Join(strings.Fields(string(offsets)), " "), nil
}
