package show_test

import (
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker/internal/show"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		max      int
		want     string
	}{
		{"short texts are left alone", "b1", 5, "b1"},
		{"exactly so long", "abcde", 5, "abcde"},
		{"cut with a sign", "abcdef", 5, "abcd…"},
		{"runes, not bytes", "äöüäö", 5, "äöüäö"},
		{"cut inside a rune", strings.Repeat("€", 100), 3, "€€…"},
		{"cleaned as well", "a\nb", 5, "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := show.Cut(c.in, c.max); got != c.want {
				t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	// The hash is that of `printf x | openssl dgst -sha256 -binary | base64`.
	if got := show.Policy("x"); !strings.Contains(got, "script-src 'sha256-LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=';") {
		t.Errorf("Policy = %q", got)
	}
	if got := show.Policy(""); !strings.Contains(got, "script-src 'none';") {
		t.Errorf("Policy = %q", got)
	}
}
