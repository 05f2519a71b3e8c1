package edn

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"olympos.io/encoding/edn"
)

// parse reads a value.
func parse(raw string) (any, error) {
	var v any
	if err := edn.UnmarshalString(raw, &v); err != nil {
		return nil, fmt.Errorf("bad value %.40q: %w", raw, err)
	}
	return v, nil
}

// text says a value in one way only, so that equal values are equal texts, and
// others are not: what Jepsen calls 3, "3" and :3 are three values here, too. A
// string stands for itself as long as nothing else looks like it; nil is empty, as
// is a resource that nobody has written to.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if plain(v) {
			return v
		}
	}
	return inner(v)
}

// words says a value to people: a string is what stands in it.
func words(v any) string {
	if s, isText := v.(string); isText {
		return s
	}
	return text(v)
}

// plain: could no other value have this text?
func plain(s string) bool {
	if s == "" || strings.ContainsAny(s[:1], "\"':;[]{}()#\\,^@`~ \t\r\n") || s == "nil" || s == "true" || s == "false" {
		return false
	}
	if _, err := strconv.ParseFloat(strings.TrimRight(s, "NM"), 64); err == nil {
		return false
	}
	return true
}

// inner says a value that stands in another one.
func inner(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case big.Int:
		return v.String() + "N"
	case float64:
		return decimal(v)
	case string:
		return quote(v)
	case rune:
		return `\` + string(v)
	case edn.Keyword:
		return v.String()
	case edn.Symbol:
		return "'" + v.String()
	case edn.Tag:
		return "#" + v.Tagname + " " + inner(v.Value)
	case []any:
		return "[" + strings.Join(inners(v), " ") + "]"
	case map[any]bool:
		return "#{" + strings.Join(slices.Sorted(slices.Values(inners(slices.Collect(maps.Keys(v))))), " ") + "}"
	case map[any]any:
		return "{" + strings.Join(pairs(v), " ") + "}"
	case *any: // how the library keeps a key that Go cannot compare
		return inner(*v)
	}
	return fmt.Sprint(v) // a tag that the library knows, such as #inst
}

func inners(vs []any) []string {
	texts := make([]string, len(vs))
	for i, v := range vs {
		texts[i] = inner(v)
	}
	return texts
}

func pairs(m map[any]any) []string {
	var texts []string
	for k, v := range m {
		texts = append(texts, inner(k)+" "+inner(v))
	}
	slices.Sort(texts)
	return texts
}

// decimal says a float so that it cannot be taken for an integer.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if strings.ContainsAny(s, ".eIN") {
		return s
	}
	return s + ".0"
}

// quote writes a string as EDN does.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
