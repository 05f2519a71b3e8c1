// Package containertest gives the tests of a package real lock stores in containers:
//
//	func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }
//
//	func TestAcquire(t *testing.T) {
//		redis := containertest.Start(t, "redis", "1")
//		...
//	}
//
// A test is skipped, with the reason, where no Docker answers or there is no image.
// The tests never pull one: `make images` makes them.
package containertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container"
)

const (
	startLimit = 3 * time.Minute
	stopLimit  = time.Minute
	prefix     = "containertest-" // of the campaign of a test binary; then its process id
)

// pool holds the stores that the tests of a binary share.
type pool struct {
	sync.Mutex
	inUse  bool // Main will stop them
	shared map[key]*entry
}

type key struct {
	kind     string
	topology store.Topology
}

type entry struct {
	once  sync.Once
	store store.Store
	dir   string
	err   error
}

// all is what cannot be handed from TestMain to a test in another way.
var all = pool{shared: map[key]*entry{}}

// Main runs the tests, then stops all stores that they started, and returns the code
// to exit with. What an earlier binary that was killed has left behind goes, too.
func Main(m *testing.M) int {
	all.Lock()
	all.inUse = true
	all.Unlock()
	code := m.Run()
	if err := all.stop(code == 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// Start returns a store of the kind, with nothing promised about what is in it: tests
// use keys of their own. It is brought up at the first call and shared by the tests of
// the binary if that uses Main; if not, it is this test's own and ends with it. A test
// that harms its nodes heals them.
func Start(t testing.TB, kind string, topology store.Topology) store.Store {
	t.Helper()
	image := demand(t, kind)
	all.Lock()
	if !all.inUse {
		all.Unlock()
		e := &entry{dir: t.TempDir()}
		e.bringUp(t, key{kind, topology}, image)
		t.Cleanup(func() {
			if err := e.stop(); err != nil {
				t.Error(err)
			}
		})
		return e.need(t)
	}
	e := all.shared[key{kind, topology}]
	if e == nil {
		e = &entry{}
		all.shared[key{kind, topology}] = e
	}
	all.Unlock()
	e.once.Do(func() { e.bringUp(t, key{kind, topology}, image) })
	return e.need(t)
}

// Options are for tests that bring up, and stop, a store themselves; with a campaign of
// their own. The test is skipped if it could not be.
func Options(t testing.TB, kind string, topology store.Topology) store.Options {
	t.Helper()
	return store.Options{
		Campaign: campaign() + "-" + strconv.FormatInt(serial.Add(1), 10), Dir: t.TempDir(), Topology: topology, Image: demand(t, kind),
		Progress: func(text string) { t.Log(text) },
	}
}

// demand skips the test if a store of the kind can't be started here.
func demand(t testing.TB, kind string) (image string) {
	t.Helper()
	if err := container.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	sweep(t)
	images, err := container.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, ok := images[kind]
	if !ok {
		t.Fatalf("no store %q: there are %v", kind, container.Kinds())
	}
	if found.ID == "" {
		t.Skipf("no image for %s here: `make images` makes one", kind)
	}
	return found.Ref
}

func (e *entry) bringUp(t testing.TB, k key, image string) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if e.dir == "" {
		if e.dir, e.err = os.MkdirTemp("", "leasehold-"+k.kind+"-"); e.err != nil {
			return
		}
	}
	e.store, e.err = container.Start(ctx, k.kind, store.Options{
		Campaign: campaign(), Dir: e.dir, Topology: k.topology, Image: image,
		Progress: func(text string) { t.Log(text) },
	})
}

func (e *entry) need(t testing.TB) store.Store {
	t.Helper()
	if e.err != nil {
		t.Fatal(e.err)
	}
	return e.store
}

func (e *entry) stop() error {
	if e.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return e.store.Stop(ctx)
}

// stop stops all stores. The logs stay if a test failed.
func (p *pool) stop(removeLogs bool) error {
	p.Lock()
	defer p.Unlock()
	var errs []error
	for _, e := range p.shared {
		errs = append(errs, e.stop())
		if removeLogs {
			errs = append(errs, os.RemoveAll(e.dir))
		} else {
			fmt.Fprintln(os.Stderr, "logs of the store:", e.dir)
		}
	}
	return errors.Join(errs...)
}

var serial atomic.Int64

func campaign() string { return prefix + strconv.Itoa(os.Getpid()) }

var sweepOnce sync.Once

// sweep removes what test binaries that are no more have left behind.
func sweep(t testing.TB) {
	sweepOnce.Do(func() {
		campaigns, err := container.Campaigns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range campaigns {
			rest, ours := strings.CutPrefix(id, prefix)
			number, _, _ := strings.Cut(rest, "-")
			pid, err := strconv.Atoi(number)
			if !ours || err != nil || pid == os.Getpid() || syscall.Kill(pid, 0) != syscall.ESRCH {
				continue
			}
			if _, err := container.Clean(t.Context(), id); err != nil {
				t.Logf("remove what %s has left: %v", id, err)
			}
		}
	})
}
