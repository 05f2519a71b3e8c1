package histories

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// headerParser reads the header lines of the text notation.
type headerParser struct {
	seen map[string]bool // of those that may stand once only
}

func (p *headerParser) line(h *Header, name, value string) error {
	if value == "" {
		return fmt.Errorf("%s: nothing after it", name)
	}
	switch name {
	case "from":
		h.From = append(h.From, value)
	case "needs":
		h.Needs = append(h.Needs, strings.Fields(value)...)
	case "guards":
		return parseGuard(h, value)
	case "initial":
		return parseInitial(h, value)
	case "fence":
		h.Fence = Fence(value)
		return p.once(name, h)
	case "tokens":
		h.Tokens = Tokens(value)
		return p.once(name, h)
	case "expect":
		if err := p.once(name, h); err != nil {
			return err
		}
		return parseExpect(h, value)
	default:
		return fmt.Errorf("unknown header line %.40q", name+":")
	}
	return checkHeader(h)
}

func (p *headerParser) once(name string, h *Header) error {
	if p.seen[name] {
		return fmt.Errorf("%s: stands twice", name)
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[name] = true
	return checkHeader(h)
}

func parseGuard(h *Header, s string) error {
	lock, s := cutWord(s)
	sign, s := cutWord(s)
	resource, s := cutWord(s)
	if sign != arrow || resource == "" || s != "" {
		return errors.New("want guards: LOCK -> RESOURCE")
	}
	h.Guards = append(h.Guards, Guard{Lock: lock, Resource: resource})
	return checkHeader(h)
}

func parseInitial(h *Header, s string) error {
	resource, s := cutWord(s)
	sign, s := cutWord(s)
	value, s := cutWord(s)
	if sign != "=" || s != "" {
		return errors.New("want initial: RESOURCE = VALUE")
	}
	if _, twice := h.Initial[resource]; twice {
		return fmt.Errorf("resource %.40q has two initial values", resource)
	}
	if h.Initial == nil {
		h.Initial = map[string]string{}
	}
	h.Initial[resource] = value
	return nil
}

func parseExpect(h *Header, s string) error {
	h.Expect = map[string]string{}
	for _, word := range strings.Fields(s) {
		property, verdict, _ := strings.Cut(word, "=")
		if _, twice := h.Expect[property]; twice {
			return fmt.Errorf("property %.40q stands twice", property)
		}
		h.Expect[property] = verdict
	}
	return checkHeader(h)
}

// appendHeader writes the header lines. Cell, Seed and Versions are left out.
func appendHeader(b []byte, h *Header) []byte {
	for _, from := range h.From {
		b = fmt.Appendf(b, "from: %s\n", from)
	}
	b = fmt.Appendf(b, "fence: %s\ntokens: %s\n", h.Fence, h.Tokens)
	for _, g := range h.Guards {
		b = fmt.Appendf(b, "guards: %s -> %s\n", g.Lock, g.Resource)
	}
	for _, resource := range slices.Sorted(maps.Keys(h.Initial)) {
		b = fmt.Appendf(b, "initial: %s = %s\n", resource, h.Initial[resource])
	}
	if len(h.Expect) > 0 {
		b = append(b, "expect:"...)
		for _, property := range slices.Sorted(maps.Keys(h.Expect)) {
			b = fmt.Appendf(b, " %s=%s", property, h.Expect[property])
		}
		b = append(b, '\n')
	}
	if len(h.Needs) > 0 {
		b = fmt.Appendf(b, "needs: %s\n", strings.Join(h.Needs, " "))
	}
	return b
}

// sayHeader writes the header lines, and makes sure that they say the same.
func sayHeader(h Header) ([]byte, error) {
	h = withDefaults(h)
	text := appendHeader(nil, &h)
	back, err := ParseText(strings.NewReader(string(text)), "header")
	if err != nil {
		return nil, fmt.Errorf("the text notation cannot say the header: %w", err)
	}
	if !sameHeader(&back.Header, &h) {
		return nil, errors.New("the text notation cannot say the header: a name or value with blanks")
	}
	return text, nil
}

// sameHeader compares what the text notation keeps in header lines.
func sameHeader(a, b *Header) bool {
	return a.Fence == b.Fence && a.Tokens == b.Tokens &&
		slices.Equal(a.Guards, b.Guards) && maps.Equal(a.Initial, b.Initial) &&
		slices.Equal(a.From, b.From) && maps.Equal(a.Expect, b.Expect) && slices.Equal(a.Needs, b.Needs)
}
