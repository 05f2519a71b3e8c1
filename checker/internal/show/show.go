// Package show holds what the text reports and the HTML pages share: text that
// is safe to print, spans of time in words, the common style sheet, and the
// content security policy of a page with one script.
package show

import (
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// BaseCSS is the style that the pages share: colours, banner, tables, buttons.
//
//go:embed base.css
var BaseCSS string

// Clean makes a text from outside (a key, a value, the error text of a store)
// safe to print on one line of a terminal or a page: control characters,
// line breaks, invalid UTF-8 and the marks that turn the direction of writing
// become U+FFFD, each; a tab becomes a space.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case dirty(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

func isClean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, dirty) < 0
}

func dirty(r rune) bool {
	// Cf holds the bidirectional marks, with which "denied" can be made to read
	// as something else; zero-width joiners go with them.
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// Cut cleans s and shortens it to at most max runes, the last one an ellipsis
// if something was cut off.
func Cut(s string, max int) string {
	// A rune has at most four bytes: no need to look at megabytes of a value.
	if len(s) > 4*max {
		s = strings.ToValidUTF8(s[:4*max], "") + "…"
	}
	s = Clean(s)
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max-1]) + "…"
}

// Seconds writes a point in time or a span, given in nanoseconds, as seconds
// with three decimals: "4.001 s".
func Seconds(ns int64) string {
	return strconv.FormatFloat(float64(ns)/float64(time.Second), 'f', 3, 64) + " s"
}

// Count writes a number with its noun: "1 trial", "22 trials".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Policy is the content security policy of a page whose only script is script
// (none, if empty): no network, no other script, no frames, no forms.
func Policy(script string) string {
	src := "'none'"
	if script != "" {
		sum := sha256.Sum256([]byte(script))
		src = "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src 'unsafe-inline'; script-src " + src + "; img-src data:; base-uri 'none'; form-action 'none'"
}
