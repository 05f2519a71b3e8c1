//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload"
	"github.com/leasehold-checker/leasehold/workload/campaign"
)

// flagImage is the one flag whose values are joined with those of the file.
const flagImage = "image"

// planFlags are the flags that say what is to be run, and the file that may say it.
func (o *runOptions) planFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.file, "config", "c", "", "campaign file that says what is to be run; see leasehold config")
	bindCampaign(f, &o.Config)
	bindStore(f, &o.Config)
	bindSettings(f, &o.Settings)
}

// bindCampaign binds the flags of a campaign as a whole.
func bindCampaign(f *pflag.FlagSet, c *campaign.Config) {
	f.Int64Var(&c.Seed, "seed", c.Seed, "seed of the plan (default: drawn, and printed)")
	f.StringVar(&c.Name, "name", c.Name, "name of the run, part of its folder's")
	f.StringVar(&c.Out, "out", c.Out, "folder of the run directories")
	f.BoolVar(&c.FailFast, "fail-fast", c.FailFast, "stop at the first violation that was not expected; a stale write is seen within the second")
	f.DurationVar(&c.Budget, "budget", c.Budget, "time for the trials of all cells together: as many are played as fit (default: --trials decides)")
	f.StringVar(&c.Inconclusive, "inconclusive", c.Inconclusive, "what an inconclusive run is: fail (exit 2, the default) or warn (exit 0, and a loud word)")
}

// bindStore binds the flags that say where a store comes from.
func bindStore(f *pflag.FlagSet, c *campaign.Config) {
	f.StringVar((*string)(&c.Provision), "provision", string(c.Provision), "where the store comes from: embedded, container or external (default: embedded where there is one, else container)")
	f.StringSliceVar(&c.Endpoints, "endpoint", c.Endpoints, "where an external store is")
	f.StringToStringVar(&c.Images, flagImage, c.Images, "image of a store in a container, as STORE=REF")
}

// bindSettings binds the flags of a block of cells.
func bindSettings(f *pflag.FlagSet, k *campaign.Settings) {
	f.StringSliceVar(&k.Locks, "lock", k.Locks, "locks to drive")
	f.StringVar(&k.Token, "token", k.Token, "give a lock without tokens a number drawn in a second step: counter (known to be bad)")
	f.StringVar(&k.Driver, "driver", k.Driver, "command of a driver: a lock in any language (see PROTOCOL.md), in place of --lock")
	f.StringVar(&k.DriverStore, "driver-store", k.DriverStore, "lock store for the driver: one that leasehold stores lists, or none (default: the one it asks for)")
	f.StringSliceVar(&k.Resources, "resource", k.Resources, "resources that the locks protect")
	f.StringSliceVar(&k.Pairs, "pair", k.Pairs, "one more LOCK/RESOURCE beside those, such as etcd-mutex/etcd")
	f.Var(&words[workload.Guard]{&k.Guards, false}, "guard", "what the holder does before it acts: none, check (asks its client), ask (asks the store)")
	f.Var(&words[histories.Fence]{&k.Fences, false}, "fence", "what the resource does with tokens: off, writes (refuses old ones on writes), all (reads raise and are refused, too)")
	f.StringVar(&k.Fault, "fault", k.Fault, "what the nemesis does: pause, session-kill (of a stopped holder's session, for locks without a ttl) or noop")
	f.StringVar((*string)(&k.Mode), "mode", string(k.Mode), "directed (stops itself at a code point) or random (stopped from outside)")
	f.Var(&words[histories.Point]{&k.Points, false}, "point", "code points at which holders are stopped, in directed mode: "+join(histories.Points()))
	f.StringVar((*string)(&k.Until), "until", string(k.Until), "what the successor does before the old holder goes on, in directed mode: granted, read or written")
	f.DurationVar(&k.Pause, "pause", k.Pause, "least length of a pause (default: what the lease needs)")
	f.DurationVar(&k.TTL, "ttl", k.TTL, "time to live that is asked of the store")
	f.DurationVar(&k.Work, "work", k.Work, "time between guard and write (default: none)")
	f.DurationVar(&k.TimeLimit, "time-limit", k.TimeLimit, "longest time for one cell, pauses that have begun not counted")
	f.IntVar(&k.Trials, "trials", k.Trials, "pauses in a cell, in directed mode")
	f.IntVar(&k.LockNames, "locks", k.LockNames, "lock names side by side")
	f.IntVar(&k.Workers, "workers", k.Workers, "worker processes for each lock name")
	f.StringVar((*string)(&k.Expect), "expect", string(k.Expect), "what each cell is to show: clean, violation or any (default: clean; violation for the off cell beside a fenced one)")
	f.BoolVar(&k.NoControl, "no-control", k.NoControl, "run fenced cells without their unfenced control; shows no power, needs 20 refused stale writes")
}

// plan resolves what is asked for: by flags, by the environment, by a file.
func (o *runOptions) plan(cmd *cobra.Command, cat *campaign.Catalog) (*campaign.Plan, error) {
	if err := fromEnvironment(cmd.Flags(), os.LookupEnv); err != nil {
		return nil, err
	}
	if o.file == "" {
		if err := o.idle(cmd); err != nil {
			return nil, err
		}
	} else if err := o.fromFile(cmd.Flags()); err != nil {
		return nil, err
	}
	if o.Seed == 0 && !cmd.Flags().Changed("seed") {
		o.Seed = drawSeed()
	}
	if err := addDrivers(cmd.Context(), &o.Config, cat); err != nil {
		return nil, err
	}
	return campaign.NewPlan(o.Config, *cat)
}

// fromEnvironment sets every flag that was not given from its variable, if there is
// one. The variables of flags that say what to print are read as well.
func fromEnvironment(f *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var err error
	f.VisitAll(func(flag *pflag.Flag) {
		name := "LEASEHOLD_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, set := lookup(name)
		if !set || flag.Changed || flag.Name == "help" || err != nil {
			return
		}
		if e := f.Set(flag.Name, value); e != nil {
			err = fmt.Errorf("%s: %w", name, e)
		}
	})
	return err
}

// fromFile takes what the file says, and over it what the flags say, for every block
// of cells.
func (o *runOptions) fromFile(given *pflag.FlagSet) error {
	c, err := campaign.ReadFile(o.file)
	if err != nil {
		return err
	}
	whole := pflag.NewFlagSet("campaign", pflag.ContinueOnError)
	bindCampaign(whole, &c)
	bindStore(whole, &c)
	bindSettings(whole, &c.Settings)
	sets := []*pflag.FlagSet{whole}
	for i := range c.Cells {
		block := pflag.NewFlagSet("block", pflag.ContinueOnError)
		bindSettings(block, &c.Cells[i])
		sets = append(sets, block)
	}
	given.Visit(func(flag *pflag.Flag) {
		for _, set := range sets {
			if to := set.Lookup(flag.Name); to != nil && flag.Name != flagImage {
				err = firstError(err, assign(to.Value, flag.Value))
			}
		}
	})
	if given.Changed(flagImage) {
		images := maps.Clone(c.Images)
		if images == nil {
			images = map[string]string{}
		}
		maps.Copy(images, o.Images)
		c.Images = images
	}
	o.Config = c
	return err
}

func assign(to, from pflag.Value) error {
	if list, ok := from.(pflag.SliceValue); ok {
		return to.(pflag.SliceValue).Replace(list.GetSlice())
	}
	return to.Set(from.String())
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// idle refuses flags that would have no effect: who sets one believes that it has.
func (o *runOptions) idle(cmd *cobra.Command) error {
	without := map[string][]string{
		"--mode random": {"point", "until", "trials"},
		"--fault noop":  {"point", "until", "trials", "pause", "no-control"},
	}
	for _, setting := range []string{"--mode " + string(o.Mode), "--fault " + o.Fault} {
		for _, flag := range without[setting] {
			if cmd.Flags().Changed(flag) {
				return fmt.Errorf("--%s has no effect with %s", flag, setting)
			}
		}
	}
	if o.Budget > 0 {
		for _, flag := range []string{"trials", "time-limit"} {
			if cmd.Flags().Changed(flag) {
				return fmt.Errorf("--%s has no effect with --budget", flag)
			}
		}
	}
	return nil
}

// words is a flag that takes several words of a kind, separated by commas. What is
// given first replaces the default, what is given later is added.
type words[T ~string] struct {
	list  *[]T
	given bool
}

func (w *words[T]) String() string {
	if w.list == nil {
		return ""
	}
	return strings.Join(texts(*w.list), ",")
}

func (w *words[T]) Type() string { return "strings" }

func (w *words[T]) Set(text string) error {
	if !w.given {
		*w.list, w.given = nil, true
	}
	for word := range strings.SplitSeq(text, ",") {
		*w.list = append(*w.list, T(strings.TrimSpace(word)))
	}
	return nil
}

func (w *words[T]) Append(word string) error {
	*w.list = append(*w.list, T(word))
	return nil
}

func (w *words[T]) Replace(list []string) error {
	*w.list, w.given = nil, true
	for _, word := range slices.Clone(list) {
		*w.list = append(*w.list, T(word))
	}
	return nil
}

func (w *words[T]) GetSlice() []string { return texts(*w.list) }
