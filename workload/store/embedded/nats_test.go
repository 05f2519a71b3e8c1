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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/embedded"
)

// natsParent starts NATS, says where, and waits to be killed.
func natsParent(ctx context.Context, p *child.Parent) error {
	var dir string
	if err := p.Config(&dir); err != nil {
		return err
	}
	s, err := embedded.StartNATS(ctx, child.NewStarter(), filepath.Join(dir, "data"), filepath.Join(dir, "nats.log"))
	if err != nil {
		return err
	}
	if err := p.Emit(s.Nodes()[0].(*child.Process).PID()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func startNATS(t *testing.T) (s store.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	log := filepath.Join(t.TempDir(), "nats.log")
	s, err := embedded.StartNATS(t.Context(), child.NewStarter(), dir, log)
	if err != nil {
		text, _ := os.ReadFile(log)
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { s.Stop(context.Background()) })
	return s, dir
}

func TestNATSServesAndStops(t *testing.T) {
	t.Parallel()
	s, dir := startNATS(t)
	if !strings.HasPrefix(s.Endpoints()[0], "nats://127.0.0.1:") {
		t.Errorf("endpoint %s", s.Endpoints())
	}
	client, err := nats.Connect(s.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	js, err := jetstream.New(client)
	if err != nil {
		t.Fatal(err)
	}
	// It starts empty, and does what it is for, in files.
	for name := range js.StreamNames(t.Context()).Name() {
		t.Errorf("there is stream %s", name)
	}
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "b", LimitMarkerTTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if revision, err := kv.Create(t.Context(), "k", nil); err != nil || revision != 1 {
		t.Fatalf("%d, %v", revision, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if v := client.ConnectedServerVersion(); v != s.Versions()["nats"] {
		t.Errorf("runs %s, said %s", v, s.Versions())
	}
	if s.Kind() != "nats" || len(s.Nodes()) != 1 || s.Nodes()[0].Name() != "nats-1" {
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

func TestNATSDeathIsTold(t *testing.T) {
	t.Parallel()
	s, _ := startNATS(t)
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

// The tool dies by kill -9: its NATS server does not outlive it.
func TestNATSDiesWithItsParent(t *testing.T) {
	t.Parallel()
	p, err := child.NewStarter().Start(t.Context(), child.Spec{Role: "nats-parent", Config: t.TempDir()})
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
		t.Fatalf("NATS is left: %d, %v", n, err)
	}
}

func TestNATSStartFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config embedded.NATSConfig
		want   string
	}{
		"a file in the way":       {embedded.NATSConfig{Dir: filepath.Join(file, "data")}, "not a directory"},
		"no port":                 {embedded.NATSConfig{Dir: dir, Listen: "127.0.0.1"}, "missing port"},
		"a port that is none":     {embedded.NATSConfig{Dir: dir, Listen: "127.0.0.1:http"}, `port "http"`},
		"an address of no one":    {embedded.NATSConfig{Dir: dir, Listen: "192.0.2.1:0"}, "192.0.2.1"},
		"a host that is no one's": {embedded.NATSConfig{Dir: dir, Listen: "host.invalid:0"}, "host.invalid"},
	} {
		err := embedded.ServeNATS(t.Context(), c.config, func(endpoint string) { t.Errorf("%s: ready at %s", name, endpoint) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// It listens where it is told to; what it says can be dialled from this host.
func ExampleServeNATS() {
	dir, err := os.MkdirTemp("", "nats")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err = embedded.ServeNATS(ctx, embedded.NATSConfig{Dir: dir, Listen: "0.0.0.0:0"}, func(endpoint string) {
		fmt.Println("ready at", endpoint[:len("nats://127.0.0.1")])
		cancel()
	})
	fmt.Println(err)
	// Output:
	// ready at nats://127.0.0.1
	// <nil>
}
