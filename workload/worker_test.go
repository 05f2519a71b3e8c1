package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/histories/monotonic"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// script is a parent, a lock and a resource in one, all of which do what the test says.
type script struct {
	cfg      Config
	commands chan json.RawMessage
	onEvent  func(Event)

	acquireErr error
	held       bool
	askErr     error
	releaseErr error
	writeErr   error
	readErr    error
	lost       chan struct{}

	mu     sync.Mutex
	events []Event
	value  string
	seq    int64
}

func (s *script) Config(into any) error            { *into.(*Config) = s.cfg; return nil }
func (s *script) Commands() <-chan json.RawMessage { return s.commands }
func (s *script) Emit(e any) error {
	s.mu.Lock()
	s.events = append(s.events, e.(Event))
	s.mu.Unlock()
	if s.onEvent != nil {
		s.onEvent(e.(Event))
	}
	return nil
}

func (s *script) Acquire(ctx context.Context, _ string, _ time.Duration) (lock.Lease, error) {
	if s.acquireErr != nil {
		return nil, s.acquireErr
	}
	point.Reach(ctx, histories.PointLocked)
	return s, nil
}
func (s *script) Token() (int64, bool)              { return 7, true }
func (s *script) TTL() time.Duration                { return 2 * time.Second }
func (s *script) Session() string                   { return "s" }
func (s *script) Held() bool                        { return s.held }
func (s *script) Ask(context.Context) (bool, error) { return s.held, s.askErr }
func (s *script) Lost() <-chan struct{}             { return s.lost }
func (s *script) Release(context.Context) error     { return s.releaseErr }
func (s *script) Close() error                      { return nil }

func (s *script) answer() resource.Answer {
	s.seq++
	return resource.Answer{Value: s.value, Seq: histories.Some(s.seq)}
}
func (s *script) Open(context.Context, string, resource.Token) (resource.Answer, error) {
	return s.answer(), nil
}
func (s *script) Read(context.Context, string, resource.Token) (resource.Answer, error) {
	return s.answer(), s.readErr
}
func (s *script) Write(ctx context.Context, _ string, _ resource.Token, value string) (resource.Answer, error) {
	point.Reach(ctx, histories.PointSent)
	if s.writeErr != nil {
		return resource.Answer{}, s.writeErr
	}
	s.value = value
	return s.answer(), nil
}

// play runs one tenure of a worker and returns what it wrote down, as "f type error".
func play(t *testing.T, s *script) []string {
	t.Helper()
	s.cfg = Config{
		Name: "3", LockName: "L", ResourceName: "R", History: filepath.Join(t.TempDir(), "w.jsonl"), OriginNS: monotonic.Now(),
		Lock: "fake", Resource: "fake", TTLMS: 2000, OpLimitMS: 60_000, Guard: s.cfg.Guard, Mode: Directed,
	}
	s.cfg.TimeNamespace, _ = monotonic.Namespace()
	if s.commands == nil {
		s.commands = make(chan json.RawMessage)
	}
	w, err := newWorker(t.Context(), s.cfg, s, Registry{
		Locks:     map[string]lock.Factory{"fake": func(context.Context, lock.Options) (lock.Lock, error) { return s, nil }},
		Resources: map[string]resource.Factory{"fake": func(context.Context, string) (resource.Resource, error) { return s, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.tenure(t.Context(), Tenure{Rounds: 1})
	h, err := histories.Merge(histories.Header{Guards: []histories.Guard{{Lock: "L", Resource: "R"}}}, []string{s.cfg.History})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range h.Ops {
		line := string(o.F) + " " + string(o.Type)
		if r := o.Reason(); r != "" {
			line += " " + r
		}
		out = append(out, line)
	}
	return out
}

// What a worker writes down for each answer that it may get. Nothing that may have
// happened is ever called a failure.
func TestTenure(t *testing.T) {
	t.Parallel()
	whole := []string{"acquire ok", "read ok", "write ok", "read ok", "release ok"}
	for name, c := range map[string]struct {
		s    *script
		want []string
	}{
		"no guard":                             {&script{cfg: Config{Guard: GuardNone}}, whole},
		"checked":                              {&script{cfg: Config{Guard: GuardCheck}, held: true}, slices.Insert(slices.Clone(whole), 2, "check ok")},
		"asked":                                {&script{cfg: Config{Guard: GuardAsk}, held: true}, slices.Insert(slices.Clone(whole), 2, "check ok")},
		"the client says no":                   {&script{cfg: Config{Guard: GuardCheck}}, []string{"acquire ok", "read ok", "check ok", "release ok"}},
		"the store does not answer":            {&script{cfg: Config{Guard: GuardAsk}, askErr: errors.New("deadline")}, []string{"acquire ok", "read ok", "check info unanswered", "release ok"}},
		"a write without an answer is unknown": {&script{cfg: Config{Guard: GuardNone}, writeErr: errors.New("connection reset")}, []string{"acquire ok", "read ok", "write info unanswered", "release ok"}},
		"a refused write did not happen":       {&script{cfg: Config{Guard: GuardNone}, writeErr: &resource.Refused{Highest: 8}}, []string{"acquire ok", "read ok", "write fail fenced", "release ok"}},
		"a refused read did not happen":        {&script{cfg: Config{Guard: GuardNone}, readErr: &resource.Refused{Highest: 8}}, []string{"acquire ok", "read fail fenced", "release ok"}},
		"an acquire that timed out is unknown": {&script{cfg: Config{Guard: GuardNone}, acquireErr: errors.New("deadline")}, []string{"acquire info unanswered"}},
		"a definite no is a failure":           {&script{cfg: Config{Guard: GuardNone}, acquireErr: lock.Definite(histories.ErrHeld, errors.New("by another"))}, []string{"acquire fail held"}},
		"an unsettled acquire is released": {&script{cfg: Config{Guard: GuardNone}, acquireErr: &lock.Unsettled{Err: errors.New("cancelled"), Settle: func(context.Context) error { return nil }}},
			[]string{"acquire info unanswered", "release ok"}},
		"a release after the loss fails":         {&script{cfg: Config{Guard: GuardNone}, releaseErr: lock.Definite(histories.ErrLost, errors.New("lease not found"))}, slices.Concat(whole[:4], []string{"release fail lost"})},
		"a release without an answer is unknown": {&script{cfg: Config{Guard: GuardNone}, releaseErr: context.DeadlineExceeded}, slices.Concat(whole[:4], []string{"release info timeout"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := play(t, c.s); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// An armed worker stops itself once, at its point and nowhere else.
func TestArmed(t *testing.T) {
	t.Parallel()
	for _, p := range histories.Points() {
		if p == histories.PointBeforeRenew {
			continue // this lock renews on its own
		}
		s := &script{cfg: Config{Guard: GuardCheck}, held: true}
		w := &Worker{parent: s, orders: newOrders()}
		stops := 0
		w.stopSelf = func() error { stops++; return nil }
		w.orders.obey(Command{Do: DoArm, Point: p})
		for _, at := range histories.Points() {
			w.at(at, "3.1")
		}
		w.at(p, "3.2")
		if stops != 1 || len(s.events) != 1 || s.events[0].What != SawStopping || s.events[0].Point != p {
			t.Errorf("%s: %d stops, events %+v", p, stops, s.events)
		}
	}
}

// A parked worker waits at its point until it is told to go on, or to stop.
func TestParked(t *testing.T) {
	t.Parallel()
	for _, end := range []func(*orders){
		func(o *orders) { o.obey(Command{Do: DoGo}) },
		func(o *orders) { o.end(func() {}) },
	} {
		s := &script{}
		w := &Worker{parent: s, orders: newOrders()}
		w.orders.obey(Command{Do: DoPark, Point: histories.PointRead})
		parked := make(chan struct{})
		s.onEvent = func(Event) { close(parked) }
		done := make(chan struct{})
		go func() { w.at(histories.PointRead, "3.1"); close(done) }()
		<-parked
		select {
		case <-done:
			t.Error("it did not wait")
		default:
		}
		end(w.orders)
		<-done
		w.at(histories.PointRead, "3.2") // and only once
	}
}

// No more commands means stop: the parent is gone.
func TestOrdersEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	commands := make(chan json.RawMessage, 1)
	commands <- json.RawMessage(`{"do":"arm","point":"read"}`)
	close(commands)
	o := newOrders()
	o.take(commands, cancel, func(Command) {})
	if ctx.Err() == nil || o.armedAt(histories.PointRead) {
		t.Error("still working, or still armed")
	}
}

func TestGeneratorFollowsItsSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, worker string) (out []Tenure) {
		g := NewGenerator(Random, 2*time.Second, Stream(seed, "cell", "L1", worker))
		for range 2000 {
			out = append(out, g.Next())
		}
		return out
	}
	a := draw(7, "1")
	if !slices.Equal(a, draw(7, "1")) {
		t.Error("one seed, two plans")
	}
	if slices.Equal(a, draw(8, "1")) || slices.Equal(a, draw(7, "2")) {
		t.Error("another seed or worker, the same plan")
	}
	if !slices.ContainsFunc(a, func(t Tenure) bool { return t.Hold > 0 }) || !slices.ContainsFunc(a, func(t Tenure) bool { return t.Open }) {
		t.Error("no grant is kept, or none is announced")
	}
	for _, x := range a {
		if x.Rounds < 1 || x.Rounds > MaxRounds {
			t.Errorf("%d rounds", x.Rounds)
		}
	}
}

func TestOtherTimeNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	if err := sameTime("time:[1] elsewhere"); err == nil {
		t.Error("accepted")
	}
}

// Renewals are written under the grant whose session they renew, and those of a
// session that carries nothing of ours are not written.
func TestJournalRenewals(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	clock := int64(0)
	j := newJournal(histories.NewRecorder(&text, "3", func() int64 { clock++; return clock }), "L")
	j.opened("3.1")
	j.Began("a")
	j.opened("3.2")
	j.Began("b")
	j.Renewing("a")(2*time.Second, nil)
	j.Renewing("c")(2*time.Second, nil)
	j.Renewing("b")(0, lock.Definite(histories.ErrLost, errors.New("gone")))
	got := text.String()
	for _, want := range []string{`"grant":"3.1"`, `"grant":"3.2"`, `"ttl_ms":2000`, `"type":"fail"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines != 4 {
		t.Errorf("%d lines, want 4:\n%s", lines, got)
	}
}
