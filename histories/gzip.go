package histories

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
)

// maxRatio is how many bytes may come out of one compressed byte, beyond what is
// always allowed. Histories shrink to a twentieth; a file made to fill a disk or to
// waste an hour shrinks to a thousandth and less.
const (
	maxRatio   = 200
	freeOutput = int64(16) << 20
)

// IsGzip looks whether gzip comes next, and leaves it.
func IsGzip(r *bufio.Reader) bool {
	magic, err := r.Peek(2)
	return err == nil && magic[0] == 0x1f && magic[1] == 0x8b
}

// Gunzip reads what was compressed with gzip. It takes nothing on trust: an output
// of more than 16 MiB and 200 times the input is an error.
func Gunzip(r io.Reader) (io.Reader, error) {
	return Unpack(r, "gzip", func(in io.Reader) (io.Reader, error) { return gzip.NewReader(in) })
}

// Unpack guards a decompressor that other packages bring, as [Gunzip] does its own:
// open is given the compressed input. What names the format in errors.
func Unpack(r io.Reader, what string, open func(io.Reader) (io.Reader, error)) (io.Reader, error) {
	in := &counter{r: r}
	out, err := open(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return &unpacker{in: in, out: out, what: what}, nil
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// unpacker gives the output of a decompressor as long as it is in proportion to its
// input.
type unpacker struct {
	in   *counter
	out  io.Reader
	what string
	n    int64 // bytes out
}

func (u *unpacker) Read(b []byte) (int, error) {
	n, err := u.out.Read(b)
	u.n += int64(n)
	if u.n > freeOutput && u.n/maxRatio > u.in.n {
		return 0, fmt.Errorf("read %s: %d bytes expand to more than %d times as many", u.what, u.in.n, maxRatio)
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read %s: %w", u.what, err)
	}
	return n, err
}
