package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/edn"
	"github.com/leasehold-checker/leasehold/histories/zstd"
)

// input reads histories, in any notation, packed or not.
type input struct{ memory memorySize }

// addFlags lets the user say what reading may take.
func (i *input) addFlags(cmd *cobra.Command) {
	i.memory = memorySize(histories.DefaultMemory)
	cmd.Flags().Var(&i.memory, "max-memory", "refuse a history whose operations take more than this")
}

// readHistory reads a file, or standard input if its name is "-".
func readHistory(in io.Reader, file string) (*histories.History, error) {
	return input{}.read(in, file)
}

func (i input) read(in io.Reader, file string) (*histories.History, error) {
	name := "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("open history: %w", err)
		}
		defer f.Close()
		in, name = f, file
	}
	h, err := i.decode(in, name)
	if errors.Is(err, histories.ErrTooLarge) {
		return nil, fmt.Errorf("%w; --max-memory raises it", err)
	}
	return h, err
}

// lookAhead is how much is looked at to know a notation.
const lookAhead = 64 << 10

// decode goes by what the file holds, never by its name.
func (i input) decode(r io.Reader, name string) (*histories.History, error) {
	b, packed := bufio.NewReaderSize(r, lookAhead), true
	switch {
	case zstd.Is(b):
		unpacked, err := zstd.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer unpacked.Close()
		b = bufio.NewReaderSize(unpacked, lookAhead)
	case histories.IsGzip(b):
		unpacked, err := histories.Gunzip(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b = bufio.NewReaderSize(unpacked, lookAhead)
	default:
		packed = false
	}
	limits := histories.Limits{Memory: int64(i.memory)}
	if first, _ := b.Peek(lookAhead); edn.Is(first) {
		return edn.DecodeWithin(b, name, limits)
	}
	if f, plain := r.(io.Seeker); plain && !packed {
		if _, err := f.Seek(-int64(b.Buffered()), io.SeekCurrent); err == nil {
			return limits.Read(r, name) // a file says how long it is
		}
	}
	return limits.Read(b, name)
}

// memorySize is a number of bytes, written as 512MiB or 4GiB.
type memorySize int64

var memoryUnits = []struct {
	name string
	size int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1}}

func (m *memorySize) Set(s string) error {
	number, unit := s, int64(1)
	for _, u := range memoryUnits {
		if n, found := strings.CutSuffix(s, u.name); found {
			number, unit = n, u.size
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n <= 0 || n > (1<<62)/unit {
		return fmt.Errorf("%q is no amount of memory; say 512MiB or 4GiB", s)
	}
	*m = memorySize(n * unit)
	return nil
}

func (m *memorySize) String() string {
	for _, u := range memoryUnits {
		if n := int64(*m); n > 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return "0"
}

// Type is the word for the value in the help text.
func (m *memorySize) Type() string { return "size" }
