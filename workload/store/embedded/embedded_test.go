//go:build linux

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

func TestMain(m *testing.M) {
	roles := map[string]child.Body{
		embedded.EtcdRole: embedded.EtcdChild, "parent": parent,
		embedded.NATSRole: embedded.NATSChild, "nats-parent": natsParent,
	}
	body, isChild := roles[child.Role()]
	if !isChild {
		os.Exit(m.Run())
	}
	if err := child.Serve(body); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parent starts etcd, says where, and waits to be killed.
func parent(ctx context.Context, p *child.Parent) error {
	var dir string
	if err := p.Config(&dir); err != nil {
		return err
	}
	s, err := embedded.StartEtcd(ctx, child.NewStarter(), filepath.Join(dir, "data"), filepath.Join(dir, "etcd.log"))
	if err != nil {
		return err
	}
	if err := p.Emit(s.Nodes()[0].(*child.Process).PID()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func start(t *testing.T) (s store.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	log := filepath.Join(t.TempDir(), "etcd.log")
	s, err := embedded.StartEtcd(t.Context(), child.NewStarter(), dir, log)
	if err != nil {
		text, _ := os.ReadFile(log)
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s, dir
}

func connect(t *testing.T, s store.Store) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: s.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestServesAndStops(t *testing.T) {
	t.Parallel()
	s, dir := start(t)
	if !strings.HasPrefix(s.Endpoints()[0], "http://127.0.0.1:") {
		t.Errorf("endpoint %s", s.Endpoints())
	}
	client := connect(t, s)
	// It starts empty, and does what it is for.
	all, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || all.Count != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := client.Put(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	status, err := client.Status(t.Context(), s.Endpoints()[0])
	if err != nil || status.Version != s.Versions()["etcd"] {
		t.Fatalf("runs %v, said %v, %v", status, s.Versions(), err)
	}
	if s.Kind() != "etcd" || len(s.Nodes()) != 1 || s.Nodes()[0].Name() != "etcd-1" {
		t.Errorf("%s %v", s.Kind(), s.Nodes())
	}
	for range 2 {
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("data is left: %v", err)
	}
	select {
	case <-s.Down():
		t.Error("down, though asked to stop")
	default:
	}
}

func TestStopOfAStoppedServer(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	if err := s.Nodes()[0].(*child.Process).SignalStop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestDeathIsTold(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	kill(t, s.Nodes()[0].(*child.Process).PID())
	select {
	case <-s.Down():
	case <-time.After(30 * time.Second):
		t.Fatal("nobody was told")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	if err := unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
}

// The tool dies by kill -9: its etcd does not outlive it.
func TestDiesWithItsParent(t *testing.T) {
	t.Parallel()
	p, err := child.NewStarter().Start(t.Context(), child.Spec{Role: "parent", Config: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	var pid int
	if err := p.First(t.Context(), &pid); err != nil {
		t.Fatal(err)
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	kill(t, p.PID())
	poll := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, 30_000); err != nil || n != 1 {
		t.Fatalf("etcd is left: %d, %v", n, err)
	}
}

// A directory that cannot be one is an error with the cause in it, at once.
func TestStartFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "etcd.log")
	_, err := embedded.StartEtcd(t.Context(), child.NewStarter(), filepath.Join(file, "data"), log)
	if err == nil || !strings.Contains(err.Error(), log) {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(log); !strings.Contains(string(text), "not a directory") {
		t.Fatalf("log: %s", text)
	}
}

func ExampleServeEtcd() {
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err = embedded.ServeEtcd(ctx, embedded.EtcdConfig{Dir: dir}, func(endpoint string) {
		fmt.Println("ready at", endpoint[:len("http://127.0.0.1")])
		cancel()
	})
	fmt.Println(err)
	// Output:
	// ready at http://127.0.0.1
	// <nil>
}
