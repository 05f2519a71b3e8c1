package histories

import (
	"bufio"
	"fmt"
	"io"
)

// lineReader reads line by line and counts. It never holds more than one line.
type lineReader struct {
	r    *bufio.Reader
	name string
	line int
}

func newLineReader(r io.Reader, name string) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine), name: name}
}

// next returns the next line that is not blank, without its end. The bytes are
// good until the next call. At the end it returns io.EOF.
func (l *lineReader) next() ([]byte, error) {
	for {
		b, err := l.r.ReadSlice('\n')
		if len(b) == 0 && err == io.EOF {
			return nil, io.EOF
		}
		l.line++
		switch {
		case err == bufio.ErrBufferFull:
			return nil, l.at(errLongLine)
		case err != nil && err != io.EOF:
			return nil, l.at(fmt.Errorf("read line: %w", err))
		}
		if b = trimSpace(b); len(b) > 0 {
			return b, nil
		}
	}
}

// at says where an error is: file and line.
func (l *lineReader) at(err error) error { return atLine(l.name, l.line, err) }

func atLine(name string, line int, err error) error {
	if name == "" {
		name = "history"
	}
	if line == 0 {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s:%d: %w", name, line, err)
}

// trimSpace cuts the four blanks of JSON off both ends.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
