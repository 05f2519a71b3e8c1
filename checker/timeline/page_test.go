package timeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/timeline"
	"github.com/leasehold-checker/leasehold/histories"
)

func render(t *testing.T, h *histories.History, r checker.Result, o timeline.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := timeline.Write(&b, h, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// payload is a text that would do something if anything read it as markup.
const payload = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'><svg onload=alert(3)>` + "\u2028\x1b[31m"

// hostile puts the payload into every text of a history and of its judgement.
func hostile() (*histories.History, checker.Result) {
	h, r := oneTrial(histories.FenceOff)
	h.Source = payload
	h.Header.Cell, h.Header.Fence, h.Header.Versions = payload, histories.Fence(payload), map[string]string{payload: payload}
	h.Header.Guards = []histories.Guard{{Lock: payload, Resource: payload}}
	for i := range h.Ops {
		op := &h.Ops[i]
		op.Grant, op.Session, op.Error, op.Text, op.Point, op.Value, op.Mode = payload, payload, payload, payload, payload, some(payload), payload
		if op.Lock != "" {
			op.Lock = payload
		}
		if op.Resource != "" {
			op.Resource = payload
		}
		if op.Target != "" {
			op.Target = payload + op.Target
		}
		if op.ByWorker() {
			op.Process = payload + op.Process
		}
	}
	r.Why = payload
	for i := range r.Properties {
		p := &r.Properties[i]
		p.Property, p.Cause = checker.Property(payload), payload
		for j := range p.Witnesses {
			w := &p.Witnesses[j]
			w.Lock, w.Resource, w.Title, w.Cause = payload, payload, payload, payload
			for k := range w.Story {
				w.Story[k].Text += payload
				w.Story[k].Mood = payload
			}
		}
	}
	return h, r
}

func hostileOptions() timeline.Options {
	return timeline.Options{Title: payload, Reproduce: payload, Note: payload,
		Links: []timeline.Link{{Text: payload, Href: payload}, {Text: "x", Href: "javascript:alert(4)"}}}
}

func TestPolicyNamesTheScript(t *testing.T) {
	t.Parallel()
	h, r := oneTrial(histories.FenceOff)
	p := render(t, h, r, timeline.Options{})
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(p, -1)
	if len(scripts) != 1 {
		t.Fatalf("%d inline scripts, want 1", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[0][1]))
	want := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:"
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(p)
	if policy == nil || !strings.HasPrefix(html.UnescapeString(policy[1]), want) {
		t.Errorf("policy = %q, want it to begin with %q", policy, want)
	}
}

func TestPageIsSelfContained(t *testing.T) {
	t.Parallel()
	h, r := campaign(10, 4, 150)
	p := render(t, h, r, timeline.Options{})
	if len(p) > 5<<20 {
		t.Errorf("page has %d bytes, want at most 5 MB", len(p))
	}
	for _, bad := range []string{"http://", "https://", "innerHTML", "insertAdjacent", "document.write", "eval("} {
		if strings.Contains(strings.ReplaceAll(p, "http://www.w3.org/2000/svg", ""), bad) {
			t.Errorf("page contains %q", bad)
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	h, r := hostile()
	p := render(t, h, r, hostileOptions())
	for _, bad := range []string{"<script>alert", "<img", "<svg onload", "\x1b", "\u2028", `href="javascript`} {
		if strings.Contains(p, bad) {
			t.Errorf("page contains %q", bad)
		}
	}
}

// However long the texts of a history are, the page stays below 5 MB.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	h, r := campaign(10, 4, 150)
	long := strings.Repeat("<&\u00e9", 2000)
	for i := range h.Ops {
		h.Ops[i].Error, h.Ops[i].Text, h.Ops[i].Value = long, long, some(long)
	}
	for i := range r.Properties[0].Witnesses {
		for k := range r.Properties[0].Witnesses[i].Story {
			r.Properties[0].Witnesses[i].Story[k].Text = long
		}
	}
	if p := render(t, h, r, timeline.Options{}); len(p) > 5<<20 {
		t.Errorf("page has %d bytes, want at most 5 MB", len(p))
	}
}

func ExampleWrite() {
	h, err := histories.ParseText(strings.NewReader("0..2 1 acquire L ttl=2000 -> ok token=33\n10..12 1 write R a token=33 -> ok\n"), "example.hist")
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := timeline.Write(&b, h, checker.Result{Verdict: checker.Unknown, Why: "nobody was stopped"}, timeline.Options{}); err != nil {
		panic(err)
	}
	title := regexp.MustCompile(`<title>.*</title>`).FindString(b.String())
	_, _ = os.Stdout.WriteString(title)
	// Output: <title>INCONCLUSIVE: example.hist</title>
}
