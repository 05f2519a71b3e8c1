package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// The format of history.jsonl.
const (
	formatName    = "leasehold-history"
	formatVersion = 1
)

// headerLine is the header as it stands in the first line.
type headerLine struct {
	Format   string            `json:"format"`
	Version  int64             `json:"version"`
	Fence    Fence             `json:"fence,omitempty"`
	Tokens   Tokens            `json:"tokens,omitempty"`
	Guards   []Guard           `json:"guards,omitempty"`
	Initial  map[string]string `json:"initial,omitempty"`
	From     []string          `json:"from,omitempty"`
	Expect   map[string]string `json:"expect,omitempty"`
	Needs    []string          `json:"needs,omitempty"`
	End      *int64            `json:"end_ns,omitempty"`
	Cell     string            `json:"cell,omitempty"`
	Seed     *int64            `json:"seed,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
}

// headerKey tells whether an object under the key parent can have that key.
// encoding/json would take the keys in any case of letters.
func headerKey(parent, name string) bool {
	switch parent {
	case "":
		return slices.Contains([]string{
			"format", "version", "fence", "tokens", "guards", "initial", "from", "expect", "needs",
			"end_ns", "cell", "seed", "versions",
		}, name)
	case "guards":
		return name == "lock" || name == "resource"
	}
	return true
}

func decodeHeader(line []byte) (Header, error) {
	if !utf8.Valid(line) {
		return Header{}, errors.New("header: invalid UTF-8")
	}
	var format struct {
		Format  string          `json:"format"`
		Version json.RawMessage `json:"version"`
	}
	if err := json.Unmarshal(line, &format); err != nil {
		return Header{}, fmt.Errorf("header: %w", err)
	}
	if format.Format != formatName {
		return Header{}, fmt.Errorf("no header: the first line must be an object with \"format\":%q", formatName)
	}
	if string(format.Version) != strconv.Itoa(formatVersion) {
		return Header{}, fmt.Errorf("header: format version %.40s is unknown, want %d", format.Version, formatVersion)
	}
	if err := checkMembers(line); err != nil {
		return Header{}, fmt.Errorf("header: %w", err)
	}
	var l headerLine
	var kind *json.UnmarshalTypeError
	switch err := json.Unmarshal(line, &l); {
	case errors.As(err, &kind):
		return Header{}, fmt.Errorf("header: %s: cannot be a %s", kind.Field, kind.Value)
	case err != nil:
		return Header{}, fmt.Errorf("header: %w", err)
	}
	return withDefaults(l.header()), nil
}

func (l *headerLine) header() Header {
	h := Header{
		Fence: l.Fence, Tokens: l.Tokens, Guards: l.Guards, Initial: l.Initial, From: l.From,
		Expect: l.Expect, Needs: l.Needs, Cell: l.Cell, Versions: l.Versions,
	}
	if l.End != nil {
		h.End = Some(*l.End)
	}
	if l.Seed != nil {
		h.Seed = Some(*l.Seed)
	}
	return h
}

func withDefaults(h Header) Header {
	if h.Fence == "" {
		h.Fence = FenceOff
	}
	if h.Tokens == "" {
		h.Tokens = TokensOrdered
	}
	return h
}

// encodeHeader gives the line without its end.
func encodeHeader(h Header) ([]byte, error) {
	h = withDefaults(h)
	l := headerLine{
		Format: formatName, Version: formatVersion,
		Fence: h.Fence, Tokens: h.Tokens, Guards: h.Guards, Initial: h.Initial, From: h.From,
		Expect: h.Expect, Needs: h.Needs, Cell: h.Cell, Versions: h.Versions,
	}
	if v, ok := h.End.Get(); ok {
		l.End = &v
	}
	if v, ok := h.Seed.Get(); ok {
		l.Seed = &v
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil {
		return nil, err
	}
	if b.Len() > maxLine {
		return nil, errLongLine
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checkMembers walks a JSON object and refuses what encoding/json lets pass:
// keys that stand twice, keys in other letters, and null.
func checkMembers(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := walk(d, "", 0); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more text after the object")
	}
	return nil
}

// walk checks the next value, which stands under the key parent.
func walk(d *json.Decoder, parent string, depth int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t == nil {
		return fmt.Errorf("key %q is null; leave it out instead", parent)
	}
	bracket, nested := t.(json.Delim)
	if !nested {
		return nil
	}
	if depth > 3 {
		return errors.New("nested too deep")
	}
	seen := map[string]bool{}
	for d.More() {
		name := parent
		if bracket == '{' {
			if name, err = memberName(d, parent, seen); err != nil {
				return err
			}
		}
		if err := walk(d, name, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func memberName(d *json.Decoder, parent string, seen map[string]bool) (string, error) {
	t, err := d.Token()
	if err != nil {
		return "", err
	}
	name, _ := t.(string)
	switch {
	case !headerKey(parent, name):
		return "", fmt.Errorf("unknown key %.40q", name)
	case seen[name]:
		return "", fmt.Errorf("key %.40q stands twice", name)
	}
	seen[name] = true
	if parent == "" {
		return name, nil
	}
	return parent + "." + name, nil
}

// checkHeader judges the words of a header.
func checkHeader(h *Header) error {
	switch h.Fence {
	case "", FenceOff, FenceWrites, FenceAll:
	default:
		return fmt.Errorf("unknown fence %.40q, want off, writes or all", h.Fence)
	}
	switch h.Tokens {
	case "", TokensOrdered, TokensNone:
	default:
		return fmt.Errorf("unknown tokens %.40q, want ordered or none", h.Tokens)
	}
	if err := checkGuards(h.Guards); err != nil {
		return err
	}
	for _, need := range h.Needs {
		if !slices.Contains([]string{"reentrancy", "shared", "liveness"}, need) {
			return fmt.Errorf("unknown need %.40q, want reentrancy, shared or liveness", need)
		}
	}
	for property, verdict := range h.Expect {
		if property == "" || !slices.Contains([]string{"valid", "invalid", "unknown"}, verdict) {
			return fmt.Errorf("unknown verdict %.40q of property %.40q, want valid, invalid or unknown", verdict, property)
		}
	}
	if _, nameless := h.Initial[""]; nameless {
		return errors.New("an initial value without a resource")
	}
	if end, ok := h.End.Get(); ok && (end < 0 || end > maxTime) {
		return fmt.Errorf("end %d ns is out of range", end)
	}
	return nil
}

func checkGuards(guards []Guard) error {
	by := map[string]string{}
	for _, g := range guards {
		if g.Lock == "" || g.Resource == "" {
			return errors.New("a guard needs a lock and a resource")
		}
		if other, twice := by[g.Resource]; twice {
			return fmt.Errorf("resource %.40q has two guards: %.40q and %.40q", g.Resource, other, g.Lock)
		}
		by[g.Resource] = g.Lock
	}
	return nil
}
