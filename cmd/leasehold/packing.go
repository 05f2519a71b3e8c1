package main

import (
	"compress/gzip"
	"io"
	"strings"

	"github.com/leasehold-checker/leasehold/histories/zstd"
)

// packing is how a file of that name is packed when it is written, and its name
// without the ending that says so. Reading goes by what a file holds.
func packing(path string) (plain string, pack func(io.Writer) (io.WriteCloser, error)) {
	if plain, found := strings.CutSuffix(path, ".gz"); found {
		return plain, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }
	}
	if plain, found := strings.CutSuffix(path, ".zst"); found {
		return plain, zstd.NewWriter
	}
	return path, func(w io.Writer) (io.WriteCloser, error) { return unpacked{w}, nil }
}

// unpacked is written as it is.
type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }
