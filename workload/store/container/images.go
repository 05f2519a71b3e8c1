package container

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

const (
	// storeLabel marks the images of `make images`, whose command lines may differ from
	// those of the upstream image. Its value is the kind.
	storeLabel = "leasehold.store"
	// A pull that says nothing for so long leads nowhere.
	pullSilence = 15 * time.Second
)

// Image is the image that a store would be started from.
type Image struct {
	Ref string // "redis:7.4.1"
	ID  string // "sha256:..."; "" if it is not here: it would have to be pulled
	Own bool   // made by `make images`
}

// ownRef is the image that `make images` makes.
func ownRef(kind string) string { return "leasehold/" + kind + ":local" }

// Kinds are the names of the stores that Start knows, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds())) }

// Images tells for each kind which image Start would use by default, without pulling
// any: the pinned upstream one if it is here, else our own if that is here, else the
// upstream one, which would be pulled.
func Images(ctx context.Context) (map[string]Image, error) {
	e, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]Image{}
	for name, k := range kinds() {
		image, err := e.present(ctx, k)
		if err != nil {
			return nil, err
		}
		found[name] = image
	}
	return found, nil
}

// present is the default image of the kind, as it is here.
func (e *engine) present(ctx context.Context, k kind) (Image, error) {
	for _, ref := range []string{k.image, ownRef(k.name)} {
		image, err := e.inspect(ctx, ref)
		if err != nil || image.ID != "" {
			return image, err
		}
	}
	return Image{Ref: k.image}, nil
}

// inspect returns an image without an ID if there is none of that name here.
func (e *engine) inspect(ctx context.Context, ref string) (Image, error) {
	found, err := e.api.ImageInspect(ctx, ref)
	if errdefs.IsNotFound(err) {
		return Image{Ref: ref}, nil
	}
	if err != nil {
		return Image{}, fmt.Errorf("look for image %s: %w", ref, err)
	}
	image := Image{Ref: ref, ID: found.ID}
	if found.Config != nil {
		image.Own = found.Config.Labels[storeLabel] != ""
	}
	return image, nil
}

// choose makes sure that an image is here: the one that is wanted, or the kind's
// upstream one, or else our own.
func (e *engine) choose(ctx context.Context, k kind, want string, progress func(string)) (Image, error) {
	ref := want
	if ref == "" {
		ref = k.image
	}
	image, err := e.inspect(ctx, ref)
	if err != nil || image.ID != "" {
		return image, err
	}
	progress(fmt.Sprintf("%s: pulling %s", k.name, ref))
	refused := e.pull(ctx, ref)
	if refused == nil {
		return e.inspect(ctx, ref)
	}
	if ctx.Err() != nil {
		return Image{}, ctx.Err()
	}
	if want != "" {
		return Image{}, fmt.Errorf("pull image %s: %w", ref, refused)
	}
	image, err = e.inspect(ctx, ownRef(k.name))
	if err != nil {
		return Image{}, err
	}
	if image.ID == "" {
		return Image{}, fmt.Errorf("pull image %s: %w; `make images` makes one here, and --image %s=REF names another", ref, refused, k.name)
	}
	progress(fmt.Sprintf("%s: %s can't be pulled; using %s, made on this machine", k.name, ref, image.Ref))
	return image, nil
}

// pull gives up when nothing moves any more. It does not use testcontainers-go, which
// goes on trying for a quarter of an hour.
func (e *engine) pull(ctx context.Context, ref string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(pullSilence, func() { cancel(fmt.Errorf("no answer in %v", pullSilence)) })
	defer silent.Stop()
	answer, err := e.api.ImagePull(ctx, ref, client.ImagePullOptions{RegistryAuth: login(ctx, ref)})
	if err == nil {
		defer answer.Close()
		for message, bad := range answer.JSONMessages(ctx) {
			silent.Reset(pullSilence)
			if err = bad; err == nil && message.Error != nil {
				err = message.Error
			}
			if err != nil {
				break
			}
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// login is what `docker login` has stored for the registry, if anything.
func login(ctx context.Context, ref string) string {
	_, stored, err := testcontainers.DockerImageAuth(ctx, ref)
	if err != nil {
		return ""
	}
	encoded, err := authconfig.Encode(stored)
	if err != nil {
		return ""
	}
	return encoded
}
