package container

import (
	"strings"
	"testing"
)

// nowhere is an image in a registry at which nobody listens.
const nowhere = "127.0.0.1:1/nothing:1"

func reach(t *testing.T) *engine {
	t.Helper()
	if err := Available(t.Context()); err != nil {
		t.Skip(err)
	}
	e, err := connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// If the upstream image can't be had, our own is taken, and the user is told.
func TestFallsBackToOwnImage(t *testing.T) {
	t.Parallel()
	e := reach(t)
	k := kinds()["redis"]
	if own, err := e.inspect(t.Context(), ownRef(k.name)); err != nil || own.ID == "" {
		t.Skipf("no image %s here: `make images` makes one (%v)", ownRef(k.name), err)
	}
	k.image = nowhere
	var told []string
	image, err := e.choose(t.Context(), k, "", func(text string) { told = append(told, text) })
	if err != nil || image.Ref != ownRef(k.name) || !image.Own || image.ID == "" {
		t.Fatalf("%+v, %v", image, err)
	}
	if text := strings.Join(told, "\n"); !strings.Contains(text, nowhere+" can't be pulled; using "+ownRef(k.name)) {
		t.Errorf("told %q", text)
	}
}

// Nothing is put in the place of an image that was asked for by name; and where there
// is none of ours, the error says how to get one.
func TestNoImage(t *testing.T) {
	t.Parallel()
	e := reach(t)
	quiet := func(string) {}
	_, err := e.choose(t.Context(), kinds()["redis"], nowhere, quiet)
	if err == nil || !strings.Contains(err.Error(), "pull image "+nowhere) {
		t.Error(err)
	}
	_, err = e.choose(t.Context(), kind{name: "paper", image: nowhere}, "", quiet)
	if err == nil || !strings.Contains(err.Error(), "`make images`") || !strings.Contains(err.Error(), "--image paper=REF") {
		t.Error(err)
	}
}

// Command lines for the images that others publish, which are not at hand everywhere.
func TestUpstreamCommands(t *testing.T) {
	t.Parallel()
	p := place{topology: clustered(3), index: 1, name: "etcd-2", endpoint: "http://127.0.0.1:20002"}
	cmd, _ := etcdCommand(p)
	text := strings.Join(cmd, " ")
	for _, part := range []string{
		"etcd --data-dir /data/etcd --name etcd-2 ", "--advertise-client-urls http://127.0.0.1:20002 ",
		"--initial-advertise-peer-urls http://p2:2380 ", "--initial-cluster-state new ",
		"--initial-cluster etcd-1=http://p1:2380,etcd-2=http://p2:2380,etcd-3=http://p3:2380 ",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	p.joins = true
	if cmd, _ := etcdCommand(p); !strings.Contains(strings.Join(cmd, " "), "--initial-cluster-state existing") {
		t.Errorf("a node that joins: %v", cmd)
	}
	if cmd, _ := natsCommand(place{}); strings.Join(cmd, " ") != "--addr 0.0.0.0 --port 4222 --jetstream --store_dir /data" {
		t.Errorf("nats: %v", cmd)
	}
}

// Ports are not those that the kernel gives to whoever dials.
func TestPorts(t *testing.T) {
	t.Parallel()
	for range 50 {
		port, err := freePort()
		if err != nil || port < lowestPort || port >= ephemeral() {
			t.Fatalf("%d of %d to %d: %v", port, lowestPort, ephemeral(), err)
		}
	}
}

func TestSafeNames(t *testing.T) {
	t.Parallel()
	if got := safe("2026-11-29T21:00:00Z demo/é"); got != "2026-11-29T21_00_00Z_demo__" {
		t.Error(got)
	}
	if a, b := unique(), unique(); a == b {
		t.Error("not unique")
	}
}
