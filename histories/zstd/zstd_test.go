package zstd_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	packer "github.com/klauspost/compress/zstd"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/zstd"
)

const text = "0..2 1 acquire L ttl=2000 -> ok token=33\n3..4 1 write R a1 token=33 -> ok\n"

func pack(t testing.TB, text []byte, options ...packer.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packer.NewWriter(&b, options...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpack(b []byte) (*histories.History, error) {
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return histories.ReadFrom(z, "f.hist.zst")
}

func TestWhatIsPackedIsReadBack(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !zstd.Is(bufio.NewReader(bytes.NewReader(b.Bytes()))) {
		t.Error("not known as zstd")
	}
	if zstd.Is(bufio.NewReader(strings.NewReader(text))) || zstd.Is(bufio.NewReader(strings.NewReader(""))) {
		t.Error("plain text is taken for zstd")
	}
	h, err := unpack(b.Bytes())
	if err != nil || len(h.Ops) != 2 {
		t.Fatalf("got %v, %v", h, err)
	}
}

func TestBadFramesAreErrors(t *testing.T) {
	t.Parallel()
	whole := pack(t, []byte(strings.Repeat(text, 1)))
	wrong := bytes.Clone(whole)
	wrong[len(wrong)-1] ^= 1 // the checksum
	for name, b := range map[string][]byte{
		"cut":      whole[:len(whole)-5],
		"checksum": wrong,
		"garbage":  append(bytes.Clone(whole), "and more"...),
	} {
		if h, err := unpack(b); err == nil || !strings.Contains(err.Error(), "read zstd") {
			t.Errorf("%s: got %v, %v", name, h, err)
		}
	}
}

// endless gives blank lines for ever.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '\n'
	}
	return len(b), nil
}

func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	packed, w := io.Pipe()
	go func() {
		e, err := packer.NewWriter(w)
		if err == nil {
			_, err = io.Copy(e, endless{})
		}
		w.CloseWithError(err)
	}()
	defer packed.Close()
	z, err := zstd.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	_, err = histories.ReadFrom(z, "f")
	if err == nil || !strings.Contains(err.Error(), "expand to more than 200 times as many") {
		t.Fatalf("got %v", err)
	}
}

func TestWindowIsBounded(t *testing.T) {
	t.Parallel()
	b := pack(t, bytes.Repeat([]byte("\n"), 1<<20), packer.WithWindowSize(256<<20), packer.WithSingleSegment(false))
	if _, err := unpack(b); !errors.Is(err, packer.ErrWindowSizeExceeded) {
		t.Fatalf("got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(pack(f, []byte(text)))
	f.Add(pack(f, []byte(text))[:20])
	f.Add([]byte(text))
	f.Add(pack(f, bytes.Repeat([]byte("0"), 1<<16)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := unpack(b); err != nil && h != nil {
			t.Fatal("a history beside an error")
		}
	})
}
