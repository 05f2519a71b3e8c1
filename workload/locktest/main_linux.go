package locktest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/child"
	"github.com/leasehold-checker/leasehold/workload/lock"
	"github.com/leasehold-checker/leasehold/workload/resource"
	"github.com/leasehold-checker/leasehold/workload/resource/register"
)

// registered are Main's locks. go test leaves no other way from TestMain to a test;
// it is set once, before the first test begins.
var registered atomic.Pointer[Locks]

// Main is the whole of TestMain. It does not return: as a test binary it runs the
// tests and exits as they say; started by Run as a worker process, it works.
func Main(m *testing.M, locks Locks) {
	if role := child.Role(); role != "" {
		os.Exit(serve(role, locks))
	}
	registered.Store(&locks)
	os.Exit(m.Run())
}

// serve is the whole of a child process.
func serve(role string, locks Locks) int {
	var body child.Body
	switch role {
	case workload.RoleWorker:
		body = func(ctx context.Context, p *child.Parent) error { return workload.Main(ctx, p, registry(locks)) }
	case register.Role:
		body = register.ServeChild
	default:
		fmt.Fprintf(os.Stderr, "locktest: unknown role %q in %s\n", role, child.RoleVar)
		return 4
	}
	if err := child.Serve(body); err != nil {
		fmt.Fprintf(os.Stderr, "locktest %s: %v\n", role, err)
		return 3
	}
	return 0
}

func registry(locks Locks) workload.Registry {
	r := workload.Registry{Locks: map[string]lock.Factory{}, Resources: map[string]resource.Factory{nameRegister: register.Dial}}
	for name, connect := range locks {
		r.Locks[name] = connect
	}
	return r
}
