package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Labels of all that this package makes.
const (
	labelOurs     = "leasehold"          // "1"
	labelCampaign = "leasehold.campaign" // its id
)

// Clean removes what a campaign has left behind, or what all campaigns have if campaign
// is "": containers first, then networks, then volumes. It goes by labels alone, touches
// nothing else, and returns the names of what it has removed, even if it failed on
// others. It must not be called while a campaign that it is to spare is running.
func Clean(ctx context.Context, campaign string) (removed []string, err error) {
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	ours := make(client.Filters).Add("label", labelOurs+"=1")
	if campaign != "" {
		ours.Add("label", labelCampaign+"="+campaign)
	}
	steps := []struct {
		what   string
		list   func(context.Context, client.Filters) ([]string, error)
		remove func(context.Context, string) error
	}{
		{"container", e.containers, e.removeContainer},
		{"network", e.networks, e.removeNetwork},
		{"volume", e.volumes, e.removeVolume},
	}
	var errs []error
	for _, step := range steps {
		names, err := step.list(ctx, ours)
		if err != nil {
			errs = append(errs, fmt.Errorf("list each %s: %w", step.what, err))
			continue
		}
		for _, name := range names {
			if err := step.remove(ctx, name); err != nil {
				errs = append(errs, err)
				continue
			}
			removed = append(removed, step.what+" "+name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("clean: %w", err)
	}
	return removed, nil
}

// Campaigns are the ids of all campaigns of which something is there, running or left
// behind.
func Campaigns(ctx context.Context) ([]string, error) {
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	ours := make(client.Filters).Add("label", labelOurs+"=1")
	containers, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	for _, c := range containers.Items {
		ids[c.Labels[labelCampaign]] = true
	}
	networks, err2 := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: ours})
	for _, n := range networks.Items {
		ids[n.Labels[labelCampaign]] = true
	}
	volumes, err3 := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: ours})
	for _, v := range volumes.Items {
		ids[v.Labels[labelCampaign]] = true
	}
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, fmt.Errorf("list campaigns: %w", err)
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

func (e *engine) containers(ctx context.Context, f client.Filters) (names []string, err error) {
	found, err := e.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: f})
	for _, c := range found.Items {
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		names = append(names, name)
	}
	return names, err
}

func (e *engine) networks(ctx context.Context, f client.Filters) (names []string, err error) {
	found, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: f})
	for _, n := range found.Items {
		names = append(names, n.Name)
	}
	return names, err
}

func (e *engine) volumes(ctx context.Context, f client.Filters) (names []string, err error) {
	found, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: f})
	for _, v := range found.Items {
		names = append(names, v.Name)
	}
	return names, err
}

// removeContainer unpauses, continues and kills the container before it removes it: a
// frozen one does not die everywhere. What does not apply to it fails, and that is
// fine: what counts is that it is gone in the end.
func (e *engine) removeContainer(ctx context.Context, name string) error {
	for {
		_, _ = e.api.ContainerUnpause(ctx, name, client.ContainerUnpauseOptions{})
		_, _ = e.api.ContainerKill(ctx, name, client.ContainerKillOptions{Signal: "KILL"})
		_, err := e.api.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil, errdefs.IsNotFound(err):
			return nil
		case !errdefs.IsConflict(err): // a conflict is with another removal: look again
			return fmt.Errorf("remove container %s: %w", name, err)
		}
		select {
		case <-time.After(statePause):
		case <-ctx.Done():
			return fmt.Errorf("remove container %s: %w", name, errors.Join(ctx.Err(), err))
		}
	}
}

func (e *engine) removeNetwork(ctx context.Context, name string) error {
	_, err := e.api.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove network %s: %w", name, err)
	}
	return nil
}

func (e *engine) removeVolume(ctx context.Context, name string) error {
	_, err := e.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove volume %s: %w", name, err)
	}
	return nil
}
