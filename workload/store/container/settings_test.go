package container_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"

	"github.com/leasehold-checker/leasehold/workload/store/container"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

// The server grants sessions as short as it was set to.
func TestConsulTTL(t *testing.T) {
	t.Parallel()
	s := containertest.Start(t, "consul", "1")
	config := api.DefaultConfig()
	config.Address = s.Endpoints()[0]
	client, err := api.NewClient(config)
	must(t, err)
	id, _, err := client.Session().Create(&api.SessionEntry{TTL: container.ConsulMinTTL.String()}, nil)
	must(t, err)
	_, err = client.Session().Destroy(id, nil)
	must(t, err)
	_, _, err = client.Session().Create(&api.SessionEntry{TTL: (container.ConsulMinTTL / 2).String()}, nil)
	if err == nil {
		t.Error("a shorter one was granted, too")
	}
}

// lines is a logger of which a line can be waited for.
type lines chan string

func (l lines) Printf(format string, args ...any) { l <- fmt.Sprintf(format, args...) }

// ZooKeeper grants sessions from two ticks on, and as long as it was set to.
func TestZooKeeperSession(t *testing.T) {
	t.Parallel()
	s := containertest.Start(t, "zookeeper", "1")
	for asked, granted := range map[time.Duration]time.Duration{
		900 * time.Millisecond: 2 * container.ZooKeeperTick,
		5 * time.Second:        5 * time.Second,
		time.Hour:              container.ZooKeeperMaxSession,
	} {
		log := make(lines, 1000)
		conn, _, err := zk.Connect(s.Endpoints(), asked, zk.WithLogger(log))
		must(t, err)
		var id int64
		var got time.Duration
		eventually(t, "authenticated", func() bool {
			n, _ := fmt.Sscanf(<-log, "authenticated: id=%d, timeout=%d", &id, &got)
			return n == 2
		})
		if got *= time.Millisecond; got != granted {
			t.Errorf("asked for %v: %v, not %v", asked, got, granted)
		}
		conn.Close()
	}
}
