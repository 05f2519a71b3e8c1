// Package zstd packs and unpacks histories with Zstandard. It stands apart from
// package histories because the standard library cannot do it; gzip is read there.
//
//	z, err := zstd.NewReader(file)
//	if err != nil { ... }
//	defer z.Close()
//	h, err := histories.ReadFrom(z, "history.jsonl.zst")
package zstd

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/leasehold-checker/leasehold/histories"
)

// maxWindow is how far back a packed file may refer, and so what reading it takes:
// the limit that the zstd command has if nothing else is said.
const maxWindow = 128 << 20

// Is looks whether a Zstandard frame comes next, and leaves it.
func Is(r *bufio.Reader) bool {
	magic, err := r.Peek(4)
	return err == nil && string(magic) == "\x28\xb5\x2f\xfd"
}

// NewReader unpacks what comes from r. It takes nothing on trust: a window of more
// than 128 MiB is an error, and so is an output out of proportion (see
// [histories.Unpack]). Close frees what it uses; it does not close r.
func NewReader(r io.Reader) (io.ReadCloser, error) {
	var d *zstd.Decoder
	out, err := histories.Unpack(r, "zstd", func(in io.Reader) (_ io.Reader, err error) {
		// More than one goroutine would read ahead, also after the last Read.
		d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		return d, err
	})
	if err != nil {
		return nil, err
	}
	return reader{out, d}, nil
}

type reader struct {
	io.Reader
	d *zstd.Decoder
}

func (r reader) Close() error {
	r.d.Close()
	return nil
}

// NewWriter packs what is written, and gives it to w. Close writes the end; it does
// not close w.
func NewWriter(w io.Writer) (io.WriteCloser, error) {
	e, err := zstd.NewWriter(w)
	if err != nil {
		return nil, fmt.Errorf("write zstd: %w", err)
	}
	return e, nil
}
