package container_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/leasehold-checker/leasehold/workload/store"
	lhcontainer "github.com/leasehold-checker/leasehold/workload/store/container"
	"github.com/leasehold-checker/leasehold/workload/store/container/containertest"
)

// foreign makes what is not ours, though its names and labels come close, and returns
// a check that it is there.
func foreign(t *testing.T, api *client.Client) (there func() bool) {
	t.Helper()
	ctx, name := t.Context(), "not-leasehold-"+strings.ToLower(t.Name())
	labels := map[string]string{"leasehold": "0", "leasehold.campaign": "1", "maintainer": "leasehold=1"}
	_, err := api.NetworkCreate(ctx, name, client.NetworkCreateOptions{Labels: labels})
	must(t, err)
	_, err = api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Labels: labels})
	must(t, err)
	made, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: name,
		Config: &container.Config{
			Image: containertest.Options(t, "redis", "1").Image, Cmd: []string{"redis-server"}, Labels: labels,
		},
		HostConfig: &container.HostConfig{Binds: []string{name + ":/data"}, NetworkMode: container.NetworkMode(name)},
	})
	must(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := api.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{Force: true})
		must(t, err)
		_, err = api.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
		must(t, err)
		_, err = api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
		must(t, err)
	})
	_, err = api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{})
	must(t, err)
	return func() bool {
		c, err := api.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{})
		if err != nil || !c.Container.State.Running {
			return false
		}
		_, err = api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
		if err != nil {
			return false
		}
		_, err = api.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
		return err == nil
	}
}

// What a campaign has left is removed, in whatever state it is, and nothing else: not
// what is foreign, and not what another campaign has.
func TestClean(t *testing.T) {
	t.Parallel()
	api := docker(t)
	mine, o := begin(t, "redis", "replica")
	other, _ := begin(t, "redis", "1")
	there := foreign(t, api)
	must(t, mine.Nodes()[0].(store.Freezer).Freeze(t.Context()))
	must(t, mine.Nodes()[1].(store.Stopper).SignalStop(t.Context()))
	removed, err := lhcontainer.Clean(t.Context(), o.Campaign)
	must(t, err)
	kinds := map[string]int{}
	for _, what := range removed {
		kind, name, _ := strings.Cut(what, " ")
		if !strings.Contains(name, o.Campaign) {
			t.Errorf("removed %s", what)
		}
		kinds[kind]++
	}
	if kinds["container"] != 2 || kinds["network"] != 2 || kinds["volume"] != 2 {
		t.Errorf("removed %v", removed)
	}
	nothingLeft(t, o.Campaign)
	if !there() {
		t.Error("something foreign is gone")
	}
	if silent("redis", other.Endpoints()[0]) {
		t.Error("another campaign was harmed")
	}
	again, err := lhcontainer.Clean(t.Context(), o.Campaign)
	if err != nil || len(again) != 0 {
		t.Errorf("the second time: %v, %v", again, err)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	image := containertest.Options(t, "redis", "1").Image
	images, err := lhcontainer.Images(t.Context())
	must(t, err)
	if len(images) != len(lhcontainer.Kinds()) || images["redis"].Ref != image || !strings.HasPrefix(images["redis"].ID, "sha256:") {
		t.Errorf("%+v", images)
	}
	if own := strings.HasPrefix(image, "leasehold/"); images["redis"].Own != own {
		t.Errorf("ours: %v", images["redis"].Own)
	}
	if !slices.IsSorted(lhcontainer.Kinds()) {
		t.Error(lhcontainer.Kinds())
	}
}
