// Package conformance is the suite that every protected resource passes: what a
// fence mode refuses, what it does not, what raises it, and that every operation
// is one atomic step with a number of its own.
//
// A resource's own test calls [Run]. It is ordinary test code that several
// packages share.
package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
)

// Suite is a resource under test.
type Suite struct {
	// Start starts a server with a fence, where each resource of Names has the value
	// Initial, and returns its endpoint. It is called for each fence mode, and
	// registers its own clean-up.
	Start func(t *testing.T, fence histories.Fence) (endpoint string)
	// Dial connects a client.
	Dial resource.Factory
	// Numbers says that accepted operations have commit numbers; NumbersRefusals
	// that refusals have, too. Then the numbers of one resource are dense.
	Numbers, NumbersRefusals bool
	// NumbersStates says that the numbers count states: every write has one of its
	// own; what changes nothing has that of the state it saw. They are not dense.
	NumbersStates bool
}

// Initial is the value of every resource before its first write.
const Initial = "initial"

// Names are the resources that the suite reads before it writes to them.
func Names() []string {
	names := slices.Clone(valueNames)
	for _, row := range rows {
		names = append(names, tableName(row))
	}
	return names
}

func tableName(r row) string { return "table " + r.name }

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	for _, fence := range []histories.Fence{histories.FenceOff, histories.FenceWrites, histories.FenceAll} {
		t.Run(string(fence), func(t *testing.T) {
			t.Parallel()
			endpoint := s.Start(t, fence)
			t.Run("table", func(t *testing.T) { s.table(t, fence, endpoint) })
			t.Run("values", func(t *testing.T) { s.values(t, endpoint) })
			t.Run("concurrency", func(t *testing.T) { s.concurrency(t, endpoint) })
			t.Run("atomicity", func(t *testing.T) { s.atomicity(t, fence, endpoint) })
			t.Run("cancelled", func(t *testing.T) { s.cancelled(t, endpoint) })
			t.Run("point", func(t *testing.T) { s.point(t, endpoint) })
		})
	}
}

func (s Suite) dial(t *testing.T, endpoint string) resource.Resource {
	t.Helper()
	r, err := s.Dial(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// step is one operation of a table: "w33" writes with token 33, "r-" reads without
// one, "o0" opens with token 0. A trailing "!" says that it is refused.
type step string

func (st step) refused() bool { return st[len(st)-1] == '!' }

func (st step) do(ctx context.Context, r resource.Resource, name string) (resource.Answer, error) {
	var token resource.Token
	var n int64
	if _, err := fmt.Sscanf(string(st[1:]), "%d", &n); err == nil {
		token = histories.Some(n)
	}
	switch st[0] {
	case 'o':
		return r.Open(ctx, name, token)
	case 'r':
		return r.Read(ctx, name, token)
	}
	return r.Write(ctx, name, token, string(st))
}

// row is a sequence of operations on one fresh resource.
type row struct {
	name             string
	off, writes, all []step
}

var rows = []row{
	// A lower token is refused once a higher one has written.
	{"stale write",
		[]step{"w33", "w34", "w33", "w34"},
		[]step{"w33", "w34", "w33!", "w34"},
		[]step{"w33", "w34", "w33!", "w34"}},
	// A holder acts many times under one token: equal passes.
	{"equal token",
		[]step{"w33", "w33", "r33", "o33", "w33"},
		[]step{"w33", "w33", "r33", "o33", "w33"},
		[]step{"w33", "w33", "r33", "o33", "w33"}},
	// A read raises the highest token where the fence is all, and only there.
	{"read raises",
		[]step{"r34", "w33"},
		[]step{"r34", "w33", "r33"},
		[]step{"r34", "w33!", "r33!", "o33!", "r34"}},
	// So does an open.
	{"open raises",
		[]step{"o34", "w33"},
		[]step{"o34", "w33", "o33"},
		[]step{"o34", "w33!", "o33!", "r33!", "o34"}},
	// A read under an old token is refused where the fence is all, and only there.
	{"stale read",
		[]step{"w34", "r33", "o33"},
		[]step{"w34", "r33", "o33", "w33!"},
		[]step{"w34", "r33!", "o33!", "w33!"}},
	// An observer has no token. It may look, and raises nothing; it may not write past a fence.
	{"observer",
		[]step{"r-", "o-", "w33", "r-", "w-", "w33"},
		[]step{"r-", "o-", "w33", "r-", "o-", "w-!", "w33", "w0!"},
		[]step{"r-", "o-", "w33", "r-", "o-", "w-!", "w33", "w0!"}},
	// Without a fence there is nothing to be told; with one, a first write needs a token, too.
	{"first write without a token",
		[]step{"w-"}, []step{"w-!", "w0"}, []step{"w-!", "w0"}},
	// 0 is a token, and so is what lies below it: absence is something else.
	{"zero and negative tokens",
		[]step{"w0", "w-5", "w0"},
		[]step{"w-5", "w0", "w-5!", "w0"},
		[]step{"w-5", "w0", "w-5!", "w0"}},
	// An observer lowers nothing, either: its missing token is no 0.
	{"observer among negative tokens",
		[]step{"w-5", "r-", "w-7"},
		[]step{"w-5", "r-", "o-", "w-!", "w-7!"},
		[]step{"w-5", "r-", "o-", "w-!", "w-7!"}},
	// A refused operation raises nothing.
	{"refusal raises nothing",
		[]step{"w34", "w33", "w34"},
		[]step{"w34", "w33!", "w33!", "w34"},
		[]step{"w34", "w33!", "r33!", "w34"}},
	// Tokens are whole 64 bits: a number that passed through a float would be equal here.
	{"large tokens",
		[]step{"w9007199254740993", "w9007199254740992"},
		[]step{"w9007199254740993", "w9007199254740992!"},
		[]step{"w9007199254740993", "w9007199254740992!"}},
}

func (s Suite) table(t *testing.T, fence histories.Fence, endpoint string) {
	r := s.dial(t, endpoint)
	for _, row := range rows {
		steps := map[histories.Fence][]step{
			histories.FenceOff: row.off, histories.FenceWrites: row.writes, histories.FenceAll: row.all,
		}[fence]
		t.Run(row.name, func(t *testing.T) { s.steps(t, r, tableName(row), steps) })
	}
}

func (s Suite) steps(t *testing.T, r resource.Resource, name string, steps []step) {
	value, last := Initial, int64(0)
	for i, st := range steps {
		a, err := st.do(t.Context(), r, name)
		refused, isRefused := resource.AsRefused(err)
		if err != nil && !isRefused {
			t.Fatalf("step %d, %s: %v", i+1, st, err)
		}
		if isRefused != st.refused() {
			t.Fatalf("step %d, %s: refused is %t", i+1, st, isRefused)
		}
		if isRefused {
			last = s.number(t, refused.Seq, s.NumbersRefusals, int64(i+1), last, false)
			continue
		}
		last = s.number(t, a.Seq, s.Numbers, int64(i+1), last, st[0] == 'w')
		if st[0] == 'w' {
			value = string(st)
		}
		if st[0] == 'r' && a.Value != value {
			t.Fatalf("step %d, %s: value %q, want %q", i+1, st, a.Value, value)
		}
	}
}

// number checks a commit number, which comes after last and is returned. It counts
// every operation if refusals have numbers, unless it counts states.
func (s Suite) number(t *testing.T, seq histories.Option[int64], has bool, count, last int64, wrote bool) int64 {
	t.Helper()
	got, known := seq.Get()
	if known != has {
		t.Fatalf("commit number known: %t", known)
	}
	switch {
	case !has:
		return last
	case s.NumbersStates && (got < last || wrote && got == last):
		t.Fatalf("commit number %d after %d", got, last)
	case !s.NumbersStates && s.NumbersRefusals && got != count:
		t.Fatalf("commit number %d, want %d", got, count)
	}
	return got
}

var valueNames = []string{"values a", "values b", "values ü/\x7f"}

// values checks that any string comes back as it was written, and that resources
// are independent of each other.
func (s Suite) values(t *testing.T, endpoint string) {
	r := s.dial(t, endpoint)
	values := []string{"", "x", "line\nbreak", "\"quoted\" \\ ünïcödé", string(make([]byte, 10_000))}
	for i, name := range valueNames {
		a, err := r.Read(t.Context(), name, histories.Some(int64(i)))
		if err != nil || a.Value != Initial {
			t.Fatalf("%q: first value %q, %v", name, a.Value, err)
		}
		for _, value := range values {
			if _, err := r.Write(t.Context(), name, histories.Some(int64(i)), value); err != nil {
				t.Fatal(err)
			}
			if a, err := r.Read(t.Context(), name, resource.Token{}); err != nil || a.Value != value {
				t.Fatalf("%q: value %.40q, %v, want %.40q", name, a.Value, err, value)
			}
		}
	}
}

const (
	clients = 8
	each    = 100
)

// concurrency checks that no two operations share a commit number and that none is
// left out, whoever did them. Of a resource that numbers states only the writes count.
func (s Suite) concurrency(t *testing.T, endpoint string) {
	if !s.Numbers {
		return
	}
	seqs := s.concurrently(t, endpoint, "concurrency", func(client, i int) step {
		if s.NumbersStates {
			return "w7"
		}
		return []step{"w7", "r7", "o7"}[i%3]
	})
	slices.Sort(seqs)
	for i, seq := range seqs {
		if i > 0 && seq <= seqs[i-1] || s.NumbersRefusals && !s.NumbersStates && seq != int64(i+1) {
			t.Fatalf("commit number %d after %d", seq, seqs[max(0, i-1)])
		}
	}
}

// concurrently has several clients do operations and collects the commit numbers.
func (s Suite) concurrently(t *testing.T, endpoint, name string, op func(client, i int) step) []int64 {
	var mu sync.Mutex
	var seqs []int64
	var wg sync.WaitGroup
	for client := range clients {
		r := s.dial(t, endpoint)
		wg.Go(func() {
			for i := range each {
				a, err := op(client, i).do(t.Context(), r, name)
				seq := a.Seq
				if refused, ok := resource.AsRefused(err); ok {
					seq = refused.Seq
				} else if err != nil {
					t.Error(err)
					return
				}
				if n, known := seq.Get(); known {
					mu.Lock()
					seqs = append(seqs, n)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return seqs
}

// atomicity has clients write with rising tokens at once. In the order of commit
// numbers the tokens of accepted writes never fall, if there is a fence.
func (s Suite) atomicity(t *testing.T, fence histories.Fence, endpoint string) {
	if fence == histories.FenceOff || !s.Numbers {
		return
	}
	type write struct{ seq, token int64 }
	var mu sync.Mutex
	var accepted []write
	var wg sync.WaitGroup
	for client := range clients {
		r := s.dial(t, endpoint)
		wg.Go(func() {
			for i := range each {
				token := int64(i*clients + client)
				a, err := r.Write(t.Context(), "atomicity", histories.Some(token), "v")
				if _, refused := resource.AsRefused(err); refused {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				accepted = append(accepted, write{a.Seq.Or(0), token})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(accepted, func(a, b write) int { return int(a.seq - b.seq) })
	for i := 1; i < len(accepted); i++ {
		if accepted[i].token < accepted[i-1].token {
			t.Fatalf("token %d accepted after %d", accepted[i].token, accepted[i-1].token)
		}
	}
}

// cancelled checks that a call whose context has ended returns, with an error that
// is no refusal, and that the client works on afterwards.
func (s Suite) cancelled(t *testing.T, endpoint string) {
	r := s.dial(t, endpoint)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Write(ctx, "cancelled", histories.Some(int64(1)), "never")
	if err == nil {
		t.Fatal("a write without time was answered")
	}
	if _, refused := resource.AsRefused(err); refused {
		t.Fatalf("a definite answer: %v", err)
	}
	if _, err := r.Read(t.Context(), "cancelled", histories.Some(int64(1))); err != nil {
		t.Fatalf("read after it: %v", err)
	}
}

// point checks that a write, and no other operation, passes the code point "sent".
func (s Suite) point(t *testing.T, endpoint string) {
	r := s.dial(t, endpoint)
	var points []histories.Point
	ctx := point.With(t.Context(), func(p histories.Point) { points = append(points, p) })
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, st := range []step{"o1", "r1", "w1", "r1"} {
		if _, err := st.do(ctx, r, "point"); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(points, []histories.Point{histories.PointSent}) {
		t.Fatalf("points %v", points)
	}
}
