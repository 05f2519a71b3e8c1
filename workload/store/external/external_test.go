package external_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/external"
)

func quiet(string) {}

func TestConnect(t *testing.T) {
	t.Parallel()
	var asked []string
	ready := func(_ context.Context, endpoint string) (string, error) {
		asked = append(asked, endpoint)
		return "7." + endpoint, nil
	}
	o := store.Options{Endpoints: []string{"a", "b"}, Progress: quiet}
	s, err := external.Connect(t.Context(), "redis", o, ready)
	if err != nil {
		t.Fatal(err)
	}
	o.Endpoints[0] = "changed"
	if got := fmt.Sprint(asked, s.Kind(), s.Endpoints(), s.Versions(), s.Nodes()); got != "[a b]redis[a b] map[redis:7.a] []" {
		t.Error(got)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-s.Down():
		t.Error("down")
	default:
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	cause := errors.New("nobody there")
	ready := func(_ context.Context, endpoint string) (string, error) {
		if endpoint == "b" {
			return "", cause
		}
		return "", nil
	}
	_, err := external.Connect(t.Context(), "redis", store.Options{Endpoints: []string{"a", "b"}, Progress: quiet}, ready)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "redis at b") {
		t.Errorf("an endpoint that is not ready: %v", err)
	}
	if _, err := external.Connect(t.Context(), "redis", store.Options{Progress: quiet}, ready); err == nil {
		t.Error("no endpoint at all")
	}
}

func ExampleConnect() {
	ready := func(context.Context, string) (string, error) { return "7.4.1", nil }
	s, err := external.Connect(context.Background(), "redis", store.Options{
		Endpoints: []string{"127.0.0.1:6379"},
		Progress:  func(text string) { fmt.Println(text) },
	}, ready)
	fmt.Println(s.Versions(), err)
	// Output:
	// redis: connecting to 127.0.0.1:6379
	// map[redis:7.4.1] <nil>
}
