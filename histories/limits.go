package histories

import (
	"errors"
	"fmt"
	"unsafe"
)

// DefaultMemory is how much memory the operations of one history may take, in
// bytes, if nothing else is said: some six million operations.
const DefaultMemory = int64(2) << 30

// Limits bound what reading a history may claim, so that an untrusted file ends in
// a history or in an error, and never in a machine without memory. A line is
// bounded, too: by 1 MiB. The zero value is the default.
type Limits struct {
	// Memory is how many bytes the operations and their texts may take, 0 for
	// [DefaultMemory]. Judging them takes about twice as much again.
	Memory int64
}

// ErrTooLarge says that a history takes more memory than it may.
var ErrTooLarge = errors.New("the history does not fit")

// operationSize is what an operation takes before its texts.
const operationSize = int64(unsafe.Sizeof(Operation{}))

func (l Limits) memory() int64 {
	if l.Memory > 0 {
		return l.Memory
	}
	return DefaultMemory
}

// Allow is an error if so many operations, with so many bytes of text in them, are
// more than may be held. Decoders in other packages ask it as they go.
func (l Limits) Allow(operations int, text int64) error {
	if int64(operations)*operationSize+text <= l.memory() {
		return nil
	}
	return fmt.Errorf("%w: %d operations so far take more than the limit of %s of memory", ErrTooLarge, operations, sizeOf(l.memory()))
}

// sizeOf says a number of bytes in the largest unit that divides it.
func sizeOf(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	for len(units) > 1 && n%1024 == 0 {
		n, units = n/1024, units[1:]
	}
	return fmt.Sprintf("%d %s", n, units[0])
}
