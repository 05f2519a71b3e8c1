package checker_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/corpus"
)

// A name that is HTML, ends a string, turns the direction of writing, and rings.
const hostile = `<img src=x onerror=alert(1)>&'"` + "\u202e\a"

// Porcupine puts labels into the page partly as HTML and partly as text.
func TestPorcupinePageIsEscaped(t *testing.T) {
	t.Parallel()
	h := parse(t, demo)
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.ByWorker() {
			o.Process += hostile
		}
		if o.Lock != "" {
			o.Lock += hostile
		}
		if o.Resource != "" {
			o.Resource += hostile
		}
		if o.Target != "" {
			o.Target += hostile
		}
		if v, known := o.Value.Get(); known {
			o.Value = histories.Some(v + hostile)
		}
		if o.Point != "" {
			o.Point += hostile
		}
	}
	h.Header.Guards = []histories.Guard{{Lock: "L1" + hostile, Resource: "R1" + hostile}}
	h.Header.Initial = map[string]string{"R1" + hostile: "a0" + hostile}
	var page bytes.Buffer
	if err := checker.WritePorcupine(&page, h, check(t, h)); err != nil {
		t.Fatal(err)
	}
	// In the page's JSON the less-than sign is \u003c, and the browser makes it one again.
	// An escaped name would be seen with its escapes where a label is put in as text.
	for _, raw := range []string{"<img src", `\u003cimg src`, `\u0026lt;`, `\u0026#`, "&lt;img", "\u202e", `\u202e`, "\a", `\u0007`} {
		if strings.Contains(page.String(), raw) {
			t.Errorf("the page holds %q", raw)
		}
	}
	if !strings.Contains(page.String(), "‹img src=x onerror=alert(1)›＆′″") {
		t.Error("the page does not hold the name at all")
	}
}

// A name of any length has a label of its own size.
func TestPorcupinePageCutsNames(t *testing.T) {
	t.Parallel()
	h := parse(t, demo)
	long := strings.Repeat("x", 100_000)
	for i := range h.Ops {
		if o := &h.Ops[i]; o.ByWorker() {
			o.Process += long
			if v, known := o.Value.Get(); known {
				o.Value = histories.Some(v + long)
			}
		}
	}
	var page bytes.Buffer
	if err := checker.WritePorcupine(&page, h, check(t, h)); err != nil {
		t.Fatal(err)
	}
	if page.Len() > 1<<20 || !strings.Contains(page.String(), "x…") {
		t.Errorf("a page of %d bytes", page.Len())
	}
}

// Every history of the corpus has a page, whatever its verdict; Visualize panics on
// a model that is not pure or a window that begins in a wrong state.
func TestPorcupinePageOfCorpus(t *testing.T) {
	t.Parallel()
	entries, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var page bytes.Buffer
		err := checker.WritePorcupine(&page, e.History, check(t, e.History))
		if err != nil && !errors.Is(err, checker.ErrNoResource) {
			t.Errorf("%s: %v", e.Name, err)
		}
		if err == nil && !strings.Contains(page.String(), "<html") {
			t.Errorf("%s: no page", e.Name)
		}
	}
}

// A long history is shown in a window around its violation.
func TestPorcupineWindow(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for n := range 2000 {
		at := 10 * n
		fmt.Fprintf(&text, "%d %c acquire L -> ok token=%d\n", at, 'A'+n%2, n)
		fmt.Fprintf(&text, "%d %c write R v%d -> ok seq=%d\n", at+1, 'A'+n%2, n, 2*n)
		if n == 1000 {
			fmt.Fprintf(&text, "%d %c write R late -> ok seq=%d\n", at+2, 'A'+(n+1)%2, 2*n+1)
		}
	}
	h := parse(t, text.String())
	var page bytes.Buffer
	if err := checker.WritePorcupine(&page, h, check(t, h)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "write late") || !strings.Contains(page.String(), "write v1000") {
		t.Error("the violation is not shown")
	}
	if page.Len() > 1<<20 || strings.Contains(page.String(), "write v100,") {
		t.Errorf("a page of %d bytes", page.Len())
	}
}
