package histories

import "strings"

// intern makes a string of a name or a value, often one seen before. A table with
// one place a hash is faster than a map, and bounded.
func (s *scanner) intern(b []byte, table []string) string {
	h := uint32(2166136261) // FNV-1a
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	known := &table[(h^h>>16)%uint32(len(table))]
	if *known != string(b) {
		*known = s.store.keep(b)
	}
	return *known
}

// textStore makes strings without an allocation for each: they share buffers, which
// are written once.
type textStore struct {
	buffer strings.Builder
	held   int64 // bytes kept
}

const (
	firstBuffer = 1 << 10
	fullBuffer  = 64 << 10
)

func (t *textStore) keep(b []byte) string {
	t.held += int64(len(b))
	if len(b) > fullBuffer/8 {
		return string(b)
	}
	if t.buffer.Cap()-t.buffer.Len() < len(b) {
		size := max(firstBuffer, min(2*t.buffer.Cap(), fullBuffer), len(b))
		t.buffer = strings.Builder{}
		t.buffer.Grow(size)
	}
	start := t.buffer.Len()
	t.buffer.Write(b)
	return t.buffer.String()[start:]
}
