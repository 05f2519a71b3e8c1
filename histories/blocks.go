package histories

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxLine is the longest line that is read or written, its end included. It
// bounds the memory that untrusted input can claim before it is looked at.
const maxLine = 1 << 20

var errLongLine = errors.New("line is longer than 1 MiB")

// blockSize is how much is read at once: enough lines for one turn of a processor,
// few enough to stay in its cache.
const blockSize = 256 << 10

// block is a run of whole lines. Blocks are used again, buffers included.
type block struct {
	buffer  []byte
	text    []byte // what is left of buffer
	size    int64  // of text, at first
	line    int    // lines before text
	last    bool   // nothing follows the block; its last line may lack its end
	partial bool   // the line cut off last had no end

	// What a scanner makes of it. It stops at the first line that is wrong.
	events []event
	fresh  int64 // bytes of texts that were not known before
	torn   bool  // the last line is dropped
	err    error // what is wrong with the line
	done   chan struct{}
}

// cutLine takes off the next line: without its end and the blanks around it.
func (b *block) cutLine() ([]byte, error) {
	line := b.text
	n := bytes.IndexByte(line, '\n')
	if b.partial = n < 0; !b.partial {
		line = line[:n+1]
	}
	b.text = b.text[len(line):]
	b.line++
	if len(line) > maxLine {
		return nil, errLongLine
	}
	return trimSpace(line), nil
}

// scan decodes the lines, up to the first that is wrong.
func (b *block) scan(s *scanner) {
	defer close(b.done)
	b.events, b.torn, b.err = b.events[:0], false, nil
	before := s.store.held
	for len(b.text) > 0 && b.err == nil {
		line, err := b.cutLine()
		if err == nil && len(line) == 0 {
			continue
		}
		b.err = err
		if err == nil {
			b.scanLine(s, line)
		}
	}
	b.fresh = s.store.held - before
}

func (b *block) scanLine(s *scanner, line []byte) {
	n := len(b.events)
	b.events = slices.Grow(b.events, 1)[:n+1]
	e := &b.events[n] // filled in where it stands: it is large to copy
	err := s.event(line, e)
	e.line = b.line
	if err == nil {
		err = e.check()
	}
	if err == nil {
		return
	}
	b.events = b.events[:n]
	if b.torn = err == errTorn && b.partial; !b.torn {
		b.err = err
	}
}

// blockReader parts its input into blocks.
type blockReader struct {
	r    io.Reader
	name string
	rest []byte // read, and not given out: the beginning of a line
	line int    // lines given out
	over bool
}

func newBlockReader(r io.Reader, name string) *blockReader {
	return &blockReader{r: r, name: name}
}

// next fills b with the next lines. At the end it returns io.EOF. The error for a
// line that is too long comes after the lines before it were given out.
func (r *blockReader) next(b *block) error {
	b.buffer, b.line, b.last = append(b.buffer[:0], r.rest...), r.line, false
	r.rest = r.rest[:0]
	whole := 0
	for err := error(nil); !r.over && whole == 0; {
		if whole, err = r.fill(b); err != nil {
			return atLine(r.name, r.line+1, err)
		}
	}
	if r.over {
		b.last, whole = true, len(b.buffer)
	}
	if whole == 0 {
		return io.EOF
	}
	r.rest = append(r.rest, b.buffer[whole:]...)
	b.text, b.size = b.buffer[:whole], int64(whole)
	r.line += bytes.Count(b.text, []byte("\n"))
	return nil
}

// fill reads as much as a block takes, and finds the end of the last whole line; 0:
// there is none yet. What the buffer holds before has no end of a line in it.
func (r *blockReader) fill(b *block) (whole int, err error) {
	old := len(b.buffer)
	b.buffer = slices.Grow(b.buffer, blockSize)[:old+blockSize]
	n, err := io.ReadFull(r.r, b.buffer[old:])
	b.buffer = b.buffer[:old+n]
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		r.over = true
	case err != nil:
		return 0, fmt.Errorf("read line: %w", err)
	}
	if last := bytes.LastIndexByte(b.buffer[old:], '\n'); last >= 0 {
		return old + last + 1, nil
	}
	if len(b.buffer) > maxLine {
		return 0, errLongLine
	}
	return 0, nil
}
