package histories

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadFrom reads a history in either notation: what begins with { is JSON Lines,
// anything else the text notation. The name stands in messages. What it returns
// is valid (see [Validate]).
func ReadFrom(r io.Reader, name string) (*History, error) {
	// The decoders take this reader over, as it is large enough for a line.
	b := bufio.NewReaderSize(r, maxLine)
	first, err := firstByte(b)
	if err == io.EOF {
		return nil, atLine(name, 0, errors.New("empty file"))
	}
	if err != nil {
		return nil, atLine(name, 0, fmt.Errorf("read history: %w", err))
	}
	if first == '{' {
		return DecodeJSONL(b, name)
	}
	return ParseText(b, name)
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

// ReadFile reads a history from a file (see [ReadFrom]).
func ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	defer f.Close()
	return ReadFrom(f, path)
}
