package histories

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadFrom reads a history in either notation: what begins with { is JSON Lines,
// anything else the text notation; gzip around it is taken off. The name stands in
// messages. What it returns is valid (see [Validate]).
func ReadFrom(r io.Reader, name string) (*History, error) { return Limits{}.Read(r, name) }

// ReadFile reads a history from a file (see [ReadFrom]).
func ReadFile(path string) (*History, error) { return Limits{}.ReadFile(path) }

// Read is [ReadFrom] within these limits.
func (l Limits) Read(r io.Reader, name string) (*History, error) {
	size := int64(0) // unknown
	if f, isFile := r.(*os.File); isFile {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	return l.read(r, name, size)
}

// ReadFile is [ReadFile] within these limits.
func (l Limits) ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	defer f.Close()
	return l.Read(f, path)
}

// lookAhead is how far the first byte that is not blank may be.
const lookAhead = 64 << 10

// read is told the size of the input, in bytes; 0: unknown.
func (l Limits) read(r io.Reader, name string, size int64) (*History, error) {
	b := bufio.NewReaderSize(r, lookAhead)
	if IsGzip(b) {
		unpacked, err := Gunzip(b)
		if err != nil {
			return nil, atLine(name, 0, err)
		}
		b, size = bufio.NewReaderSize(unpacked, lookAhead), 0
	}
	first, err := firstByte(b)
	if err == io.EOF {
		return nil, atLine(name, 0, errors.New("empty file"))
	}
	if err != nil {
		return nil, atLine(name, 0, fmt.Errorf("read history: %w", err))
	}
	if first == '{' {
		return l.decodeJSONL(b, name, size)
	}
	return l.ParseText(b, name)
}

// firstByte looks at the first byte that is not blank, and leaves all of them.
func firstByte(b *bufio.Reader) (byte, error) {
	for n := 512; ; n *= 2 {
		seen, err := b.Peek(n)
		if rest := trimSpace(seen); len(rest) > 0 {
			return rest[0], nil
		}
		if err == bufio.ErrBufferFull {
			return ' ', nil // the text notation will say what is wrong
		}
		if err != nil {
			return 0, err
		}
	}
}
