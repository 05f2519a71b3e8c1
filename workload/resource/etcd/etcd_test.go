//go:build linux

package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/point"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/resource/conformance"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

func TestMain(m *testing.M) {
	if child.Role() != embedded.EtcdRole {
		os.Exit(m.Run())
	}
	if err := child.Serve(embedded.EtcdChild); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func startEtcd(t *testing.T) store.Store {
	t.Helper()
	dir := t.TempDir()
	s, err := embedded.StartEtcd(t.Context(), child.NewStarter(), filepath.Join(dir, "data"), filepath.Join(dir, "etcd.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s
}

func space(t *testing.T, s store.Store, fence histories.Fence, initial map[string]string) string {
	t.Helper()
	endpoint := Endpoint(s.Endpoints(), fmt.Sprintf("%s/%d", t.Name(), time.Now().UnixNano()))
	if err := Prepare(t.Context(), endpoint, resource.ServerOptions{Fence: fence, Initial: initial}); err != nil {
		t.Fatal(err)
	}
	return endpoint
}

func client(t *testing.T, endpoint string) resource.Resource {
	t.Helper()
	r, err := Dial(t.Context(), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func rawClient(t *testing.T, s store.Store) *clientv3.Client {
	t.Helper()
	raw, err := connect(s.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

func TestConformance(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	conformance.Run(t, conformance.Suite{
		Start: func(t *testing.T, fence histories.Fence) string {
			initial := map[string]string{}
			for _, name := range conformance.Names() {
				initial[name] = conformance.Initial
			}
			return space(t, s, fence, initial)
		},
		Dial:    Dial,
		Numbers: true, NumbersRefusals: true, NumbersStates: true,
	})
}

// The order of the encoded tokens is the order of the tokens.
func TestEncode(t *testing.T) {
	t.Parallel()
	last := ""
	for _, token := range []int64{math.MinInt64, -1 << 40, -2, -1, 0, 1, 9, 10, 1 << 53, 1<<53 + 1, math.MaxInt64} {
		text := encode(token)
		if text <= last {
			t.Errorf("%d is %s, after %s", token, text, last)
		}
		if back, err := decode(text); back != token || err != nil {
			t.Errorf("%d came back as %d, %v", token, back, err)
		}
		last = text
	}
	if _, err := decode("x"); err == nil {
		t.Error("parsed nonsense")
	}
}

// The lock key of the grant must be there, with the token as its create revision,
// where there is a fence; and only there.
func TestLockKeyIsRequired(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	raw := rawClient(t, s)
	for fence, refuses := range map[histories.Fence]bool{
		histories.FenceOff: false, histories.FenceWrites: true, histories.FenceAll: true,
	} {
		r := client(t, space(t, s, fence, nil))
		put, err := raw.Put(t.Context(), "lock/"+string(fence), "")
		if err != nil {
			t.Fatal(err)
		}
		ctx, token := resource.WithKey(t.Context(), "lock/"+string(fence)), put.Header.Revision
		write := func(token int64) (*resource.Refused, bool) {
			_, err := r.Write(ctx, "R", histories.Some(token), "v")
			refused, ok := resource.AsRefused(err)
			if err != nil && !ok {
				t.Fatal(err)
			}
			return refused, ok
		}
		if _, refused := write(token); refused {
			t.Errorf("%s: the holder is refused", fence)
		}
		// A higher token than that of the key is not that of the key.
		if r, refused := write(token + 1); refused != refuses || refused && (r.Why == "" || r.Highest != token) {
			t.Errorf("%s: another grant's key: %+v", fence, r)
		}
		if _, err := raw.Delete(t.Context(), "lock/"+string(fence)); err != nil {
			t.Fatal(err)
		}
		// Nobody else has touched the resource, and yet.
		if r, refused := write(token); refused != refuses || refused && (r.Why == "" || r.Highest != token) {
			t.Errorf("%s: the key is gone: %+v", fence, r)
		}
		// A higher token has come by meanwhile: that is the reason then.
		if _, err := r.Write(t.Context(), "R", histories.Some(token+7), "w"); err != nil {
			t.Fatal(err)
		}
		if r, refused := write(token); refused != refuses || refused && (r.Why != "" || r.Highest != token+7) {
			t.Errorf("%s: a higher token: %+v", fence, r)
		}
		// A read needs no key.
		if a, err := r.Read(ctx, "R", histories.Some(token+7)); err != nil || fence != histories.FenceOff && a.Value != "w" {
			t.Errorf("%s: read: %+v, %v", fence, a, err)
		}
	}
}

// What changes nothing has the number of the state that it saw.
func TestNumbers(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	r := client(t, space(t, s, histories.FenceAll, nil))
	number := func(a resource.Answer, err error) int64 {
		t.Helper()
		if refused, ok := resource.AsRefused(err); ok {
			return refused.Seq.Or(0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return a.Seq.Or(0)
	}
	token := histories.Some(int64(5))
	wrote := number(r.Write(t.Context(), "R", token, "v"))
	for what, seq := range map[string]int64{
		"read":    number(r.Read(t.Context(), "R", token)),
		"open":    number(r.Open(t.Context(), "R", token)),
		"look":    number(r.Read(t.Context(), "R", resource.Token{})),
		"refusal": number(r.Write(t.Context(), "R", histories.Some(int64(4)), "x")),
	} {
		if seq != wrote {
			t.Errorf("%s: number %d, the state is %d", what, seq, wrote)
		}
	}
	if raised := number(r.Read(t.Context(), "R", histories.Some(int64(6)))); raised <= wrote {
		t.Errorf("a read that raised the highest token: %d after %d", raised, wrote)
	}
}

// The point "sent" is reached when the request has left, not when its answer comes:
// there is none, as the server stands still.
func TestSentBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	node := s.Nodes()[0].(*child.Process)
	r := client(t, space(t, s, histories.FenceOff, nil))
	if _, err := r.Write(t.Context(), "R", resource.Token{}, "0"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(node.SignalStop(t.Context()), node.Stopped(t.Context())); err != nil {
		t.Fatal(err)
	}
	sent, done := make(chan struct{}), make(chan error, 1)
	ctx := point.With(t.Context(), func(histories.Point) { close(sent) })
	go func() {
		_, err := r.Write(ctx, "R", resource.Token{}, "1")
		done <- err
	}()
	select {
	case <-sent:
	case err := <-done:
		t.Fatalf("answered by a stopped server: %v", err)
	}
	if err := node.Continue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if a, err := r.Read(t.Context(), "R", resource.Token{}); err != nil || a.Value != "1" {
		t.Fatalf("%+v, %v", a, err)
	}
}

// A mark is found wherever the writes of a connection cut it.
func TestWireFindsTheMark(t *testing.T) {
	t.Parallel()
	for _, writes := range [][]string{{"xxmarkxx"}, {"xm", "arkx"}, {"m", "a", "r", "k"}, {"mamark"}, {"", "ma", "", "rk"}} {
		w := &wire{}
		carried, forget := w.watch([]byte("mark"))
		var tail []byte
		for _, text := range writes {
			select {
			case <-carried:
				t.Errorf("%q: too early", writes)
			default:
			}
			tail = w.look(append(tail, text...))
		}
		select {
		case <-carried:
		default:
			t.Errorf("%q: not seen", writes)
		}
		forget()
	}
}

// A space is prepared once, with a fence that exists, and is not dialled before. It
// may have more resources than one transaction has room for.
func TestPrepare(t *testing.T) {
	t.Parallel()
	s := startEtcd(t)
	initial := map[string]string{}
	for i := range 300 {
		initial[fmt.Sprint(i)] = fmt.Sprint("v", i)
	}
	endpoint := space(t, s, "", initial)
	if err := Prepare(t.Context(), endpoint, resource.ServerOptions{}); err == nil {
		t.Error("prepared twice")
	}
	if err := Prepare(t.Context(), endpoint+"2", resource.ServerOptions{Fence: "reads"}); err == nil {
		t.Error("prepared with an unknown fence")
	}
	r := client(t, endpoint)
	for name, value := range initial {
		if a, err := r.Read(t.Context(), name, resource.Token{}); err != nil || a.Value != value {
			t.Fatalf("%s: %+v, %v", name, a, err)
		}
	}
	if err := Remove(t.Context(), endpoint); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{s.Endpoints()[0], s.Endpoints()[0] + "#", "#x", endpoint} {
		if _, err := Dial(t.Context(), wrong); err == nil {
			t.Errorf("dialled %q", wrong)
		}
	}
}
