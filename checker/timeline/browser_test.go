package timeline_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/leasehold-checker/leasehold/checker"
	"github.com/leasehold-checker/leasehold/checker/timeline"
	"github.com/leasehold-checker/leasehold/histories"
)

// skipBrowser is the environment variable that lets these tests be skipped on a
// machine without a browser. Without it they fail there: a skipped test that
// nobody notices shows nothing.
const skipBrowser = "LEASEHOLD_SKIP_BROWSER"

// tab is a page in a headless Chromium, and everything that went wrong in it.
type tab struct {
	ctx context.Context
	mu  sync.Mutex
	bad []string
}

func (b *tab) complain(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bad = append(b.bad, what)
}

func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.bad...)
}

// open writes a page to a file and opens it as a reader would, from the disk.
func open(t *testing.T, h *histories.History, r checker.Result, o timeline.Options) *tab {
	t.Helper()
	if os.Getenv(skipBrowser) == "1" {
		t.Skip(skipBrowser + "=1: the page is not tried in a browser")
	}
	file := filepath.Join(t.TempDir(), "timeline.html")
	if err := os.WriteFile(file, []byte(render(t, h, r, o)), 0o644); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start a browser: %v (these tests need Chromium or Chrome; set %s=1 to go without)", err, skipBrowser)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file))
	b.drawn(t)
	return b
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complain("exception: " + e.ExceptionDetails.Text + " " + e.ExceptionDetails.URL)
	case *runtime.EventConsoleAPICalled:
		b.complain("console: " + string(e.Type))
	case *log.EventEntryAdded:
		b.complain("log: " + e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		b.complain("dialog: " + e.Message)
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, "file://") && !strings.HasPrefix(u, "data:") {
			b.complain("request: " + u)
		}
	}
}

func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// drawn waits until what was asked for is drawn: the page draws once a frame.
func (b *tab) drawn(t *testing.T) {
	t.Helper()
	ask[bool](t, b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

func (b *tab) press(t *testing.T, key string) {
	t.Helper()
	b.do(t, chromedp.KeyEvent(key))
	b.drawn(t)
}

func (b *tab) clean(t *testing.T) {
	t.Helper()
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// inView tells whether the mark of the violation lies within the window.
const inView = `[...document.querySelectorAll('[data-mark="stale"]')].some((m) => { const b = m.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight && b.left >= 0 && b.right <= innerWidth && b.width > 10; })`

func TestPageShowsTheViolation(t *testing.T) {
	t.Parallel()
	h, r := oneTrial(histories.FenceOff)
	b := open(t, h, r, timeline.Options{Reproduce: "leasehold run --seed 7"})
	if !ask[bool](t, b, inView) {
		t.Error("the violation is not in view when the page opens")
	}
	if got := ask[int](t, b, `document.querySelectorAll("#picture rect.untrue").length`); got != 1 {
		t.Errorf("%d untrue beliefs are drawn, want 1", got)
	}
	if got := ask[string](t, b, `[...document.querySelectorAll("#picture [data-number]")].map((g) => g.textContent).sort().join("")`); got != "12345" {
		t.Errorf("numbers %q stand in the picture, want 12345", got)
	}
	b.clean(t)
}

func TestKeysTurnThePages(t *testing.T) {
	t.Parallel()
	h, r := campaign(3, 2, 100)
	b := open(t, h, r, timeline.Options{})
	which := `document.getElementById("which").textContent + ", " + document.getElementById("lock").value`
	for _, step := range []struct{ key, want string }{
		{"n", "violation 2 of 6 told, lock-1"}, {"n", "violation 3 of 6 told, lock-2"}, {"p", "violation 2 of 6 told, lock-1"}, {"p", "violation 1 of 6 told, lock-1"}, {"p", "violation 6 of 6 told, lock-3"},
	} {
		b.press(t, step.key)
		if got := ask[string](t, b, which); got != step.want {
			t.Errorf("after %s: %q, want %q", step.key, got, step.want)
		}
		if !ask[bool](t, b, inView) {
			t.Errorf("after %s the violation is not in view", step.key)
		}
	}
	// No other key breaks anything: zoom, pan, whole history, step, fit.
	for _, key := range []string{"+", "+", "-", "0", ".", ".", ",", "f"} {
		b.press(t, key)
	}
	if !ask[bool](t, b, inView) {
		t.Error("after f the violation is not in view")
	}
	b.clean(t)
}

// Labels of one lane never lie over each other, neither in the whole history nor
// close up.
func TestLabelsDoNotOverlap(t *testing.T) {
	t.Parallel()
	h, r := campaign(2, 3, 60)
	b := open(t, h, r, timeline.Options{})
	const overlaps = `(() => {
		const boxes = [...document.querySelectorAll("#picture text[data-op]")].map((e) => ({ t: e.textContent, b: e.getBoundingClientRect() }));
		const bad = [];
		boxes.forEach((p, i) => boxes.slice(i + 1).forEach((q) => {
			const x = Math.min(p.b.right, q.b.right) - Math.max(p.b.left, q.b.left);
			const y = Math.min(p.b.bottom, q.b.bottom) - Math.max(p.b.top, q.b.top);
			if (x > 1.5 && y > 4) bad.push(p.t + " / " + q.t);
		}));
		return bad.join("; ");
	})()`
	for _, key := range []string{"f", "0", "f", "+", "+", "+", "+", "n"} {
		b.press(t, key)
		if got := ask[string](t, b, overlaps); got != "" {
			t.Errorf("after %s these labels overlap: %s", key, got)
		}
	}
	b.clean(t)
}

func TestLinkToAnOperation(t *testing.T) {
	t.Parallel()
	h, r := campaign(3, 2, 100)
	b := open(t, h, r, timeline.Options{})
	last := len(h.Ops) - 1
	ask[string](t, b, `location.hash = "#op-`+strconv.Itoa(last)+`"`)
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](`document.getElementById("detail").textContent.startsWith("op `+strconv.Itoa(last)+`:")`)); err != nil {
		t.Fatal(err)
	}
	b.drawn(t)
	if got := ask[int](t, b, `document.querySelectorAll("#picture .chosen").length`); got == 0 {
		t.Error("the operation is not marked in the picture")
	}
	b.clean(t)
}

func TestHostileHistoryInABrowser(t *testing.T) {
	t.Parallel()
	h, r := hostile()
	b := open(t, h, r, hostileOptions())
	for _, key := range []string{"n", "0", ".", ".", "."} {
		b.press(t, key)
	}
	const handlers = `[...document.querySelectorAll("*")].filter((e) => [...e.attributes].some((a) => a.name.startsWith("on") || /^\s*javascript:/i.test(a.value))).length`
	if n := ask[int](t, b, handlers); n != 0 {
		t.Errorf("%d elements have an event handler or a javascript link", n)
	}
	if n := ask[int](t, b, `document.querySelectorAll("img, iframe, object, embed, script:not(#data)").length`); n != 1 {
		t.Errorf("%d scripts and foreign elements, want the one script", n)
	}
	b.clean(t)
}

func TestEmptyHistoryInABrowser(t *testing.T) {
	t.Parallel()
	b := open(t, &histories.History{}, checker.Result{Verdict: checker.Unknown, Why: "the history is empty"}, timeline.Options{})
	b.clean(t)
}
