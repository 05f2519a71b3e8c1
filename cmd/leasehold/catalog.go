//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/leasehold-checker/leasehold/workload/campaign"
	"github.com/leasehold-checker/leasehold/workload/catalog"
	"github.com/leasehold-checker/leasehold/workload/store"
	"github.com/leasehold-checker/leasehold/workload/store/container"
)

// dockerPatience is how long a Docker engine may take to answer.
const dockerPatience = 10 * time.Second

func newStores() *cobra.Command {
	return &cobra.Command{
		Use:     "stores",
		GroupID: "run",
		Short:   "List the lock stores, and whether they can run here",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), dockerPatience)
			defer cancel()
			images, dockerErr := container.Images(ctx)
			t := newTable(cmd.OutOrStdout(), "store", "topologies", "by", "here")
			for _, s := range catalog.All().Stores {
				for _, p := range s.Providers {
					t.row(s.Name, join(topologies(s, p)), string(p.Provision), here(p.Provision, images[s.Name], dockerErr))
				}
			}
			return t.flush()
		},
	}
}

func topologies(s campaign.Store, p campaign.Provider) []store.Topology {
	if p.Topologies != nil {
		return p.Topologies
	}
	return s.Topologies
}

// here says whether a store can run here, and if not, why not.
func here(p store.Provision, image container.Image, dockerErr error) string {
	switch {
	case p == store.Embedded:
		return "yes"
	case p == store.External:
		return "with --endpoint"
	case dockerErr != nil:
		return "no: " + firstLine(dockerErr.Error())
	case image.ID == "":
		return image.Ref + ", if it can be pulled; or make images"
	case image.Own:
		return "yes: " + image.Ref + ", made here"
	}
	return "yes: " + image.Ref
}

func newLocks() *cobra.Command {
	return &cobra.Command{
		Use:     "locks",
		GroupID: "run",
		Short:   "List the locks, and what is known of them",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := newTable(cmd.OutOrStdout(), "lock", "store", "tokens", "least ttl", "what it is")
			for _, l := range catalog.All().Locks {
				t.row(l.Name, l.Store, tokens(l), ttl(l), l.Doc)
			}
			return t.flush()
		},
	}
}

func tokens(l campaign.Lock) string {
	if l.Tokens {
		return "yes"
	}
	return "none"
}

func ttl(l campaign.Lock) string {
	if l.NoTTL {
		return "none"
	}
	return l.LeastTTL.String()
}

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		GroupID: "run",
		Short:   "Find out what can run on this machine, and why not",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return doctor(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func doctor(ctx context.Context, out io.Writer) error {
	t := newTable(out, "what", "", "")
	t.row("campaigns", "yes", "Linux; processes can be stopped and seen stopped")
	t.row("embedded stores", "yes", "no Docker needed")
	ctx, cancel := context.WithTimeout(ctx, dockerPatience)
	defer cancel()
	if err := container.Available(ctx); err != nil {
		t.row("stores in containers", "no", firstLine(err.Error()))
	} else {
		t.row("stores in containers", "yes", "a Docker engine answers")
		images, err := container.Images(ctx)
		if err != nil {
			return withCode(exitEnvironment, err)
		}
		for _, kind := range container.Kinds() {
			found := "yes"
			if images[kind].ID == "" {
				found = "no"
			}
			t.row("image of "+kind, found, here(store.Container, images[kind], nil))
		}
	}
	if _, err := os.Stat("/.dockerenv"); err == nil {
		t.row("/.dockerenv", "present", "published ports are asked for on 127.0.0.1 all the same")
	}
	return t.flush()
}

// columns is a table of plain text.
type columns struct{ w *tabwriter.Writer }

func newTable(out io.Writer, head ...string) *columns {
	t := &columns{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	t.row(head...)
	return t
}

func (t *columns) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }

func (t *columns) flush() error { return t.w.Flush() }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
