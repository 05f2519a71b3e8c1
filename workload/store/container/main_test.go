package container_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

// askVariable makes the test binary say whether containers are available, and end:
// what is found out about Docker is remembered for a whole process.
const askVariable = "LEASEHOLD_TEST_ASK"

func TestMain(m *testing.M) {
	if os.Getenv(askVariable) != "" {
		fmt.Println(container.Available(context.Background()))
		return
	}
	os.Exit(containertest.Main(m))
}

// begin brings up a store that ends with the test, after which nothing of it is left.
func begin(t *testing.T, kind string, topology store.Topology) (store.Store, store.Options) {
	t.Helper()
	o := containertest.Options(t, kind, topology)
	s, err := container.Start(t.Context(), kind, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 { // the second time there is nothing to do
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
		nothingLeft(t, o.Campaign)
	})
	return s, o
}

func nothingLeft(t *testing.T, campaign string) {
	t.Helper()
	there, err := container.Campaigns(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(there, campaign) {
		t.Errorf("something of %s is left", campaign)
	}
}

func docker(t *testing.T) *client.Client {
	t.Helper()
	api, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// eventually waits until it is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("in a minute: not %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// silent says whether the store does not do what it is for; it is not asked for long.
func silent(kind, endpoint string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := container.Ready(ctx, kind, endpoint)
	return err != nil
}

func answers(kind, endpoint string) bool { return !silent(kind, endpoint) }

func TestStartsAndStops(t *testing.T) {
	t.Parallel()
	for _, kind := range container.Kinds() {
		for _, topology := range container.Topologies(kind) {
			t.Run(kind+"@"+string(topology), func(t *testing.T) {
				t.Parallel()
				s, o := begin(t, kind, topology)
				if s.Kind() != kind || s.Versions()[kind] == "" || !strings.Contains(s.Versions()["image "+kind], "sha256:") {
					t.Errorf("%s: %v", s.Kind(), s.Versions())
				}
				if len(s.Endpoints()) != len(s.Nodes()) {
					t.Errorf("%v of %v", s.Endpoints(), s.Nodes())
				}
				for i, endpoint := range s.Endpoints() {
					if !strings.Contains(endpoint, "127.0.0.1:") {
						t.Errorf("published at %s", endpoint)
					}
					if name := fmt.Sprintf("%s-%d", kind, i+1); s.Nodes()[i].Name() != name {
						t.Errorf("node %d is %s", i, s.Nodes()[i].Name())
					}
					if _, err := os.Stat(fmt.Sprintf("%s/%s.log", o.Dir, s.Nodes()[i].Name())); err != nil {
						t.Error(err)
					}
				}
				select {
				case <-s.Down():
					t.Error("down")
				default:
				}
			})
		}
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	o := store.Options{Campaign: "none", Dir: t.TempDir(), Topology: "7", Progress: func(string) {}}
	for kind, want := range map[string]string{
		"etcd":  `etcd in a container runs as [1 3], not as "7"`,
		"paper": "no such store in a container; there are [consul etcd nats postgres redis zookeeper]",
	} {
		if _, err := container.Start(t.Context(), kind, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if container.Topologies("paper") != nil {
		t.Error("topologies of paper")
	}
}

// A start that fails in the middle removes what it has made, and says what the server
// said.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	o := containertest.Options(t, "zookeeper", "3")
	o.Image = containertest.Options(t, "redis", "1").Image // it has a shell, and no ZooKeeper
	_, err := container.Start(t.Context(), "zookeeper", o)
	if err == nil || !strings.Contains(err.Error(), "ended with code 127") || !strings.Contains(err.Error(), "zkServer.sh: not found") {
		t.Error(err)
	}
	nothingLeft(t, o.Campaign)
}

// So does one that is cancelled.
func TestCancelledStart(t *testing.T) {
	t.Parallel()
	o := containertest.Options(t, "redis", "5")
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(text string) {
		if strings.Contains(text, "starting") {
			time.AfterFunc(200*time.Millisecond, cancel)
		}
	}
	if s, err := container.Start(ctx, "redis", o); err == nil {
		must(t, s.Stop(t.Context()))
		t.Skip("it was faster than the cancellation")
	}
	nothingLeft(t, o.Campaign)
}

// Without a Docker that can be used there is one sentence with the alternatives.
func TestNoDocker(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"unix:///nonexistent/docker.sock": "",
		"tcp://127.0.0.1:1":               "",
		"tcp://192.0.2.1:2375":            "is another machine",
		"nonsense":                        "",
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), askVariable+"=1", "DOCKER_HOST="+host)
		out, err := cmd.CombinedOutput()
		must(t, err)
		for _, part := range []string{"no container can be run here", "--provision embedded", "--provision external --endpoint", "DOCKER_HOST", want} {
			if !strings.Contains(string(out), part) || strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
				t.Errorf("%s: %s", host, out)
			}
		}
	}
}

func ExampleTopologies() {
	for _, kind := range container.Kinds() {
		fmt.Println(kind, container.Topologies(kind))
	}
	// Output:
	// consul [1]
	// etcd [1 3]
	// nats [1]
	// postgres [1]
	// redis [1 5 replica]
	// zookeeper [1 3]
}
